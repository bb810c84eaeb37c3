// SPDX-License-Identifier: Apache-2.0

//go:build unix

package localattach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"spawn/internal/sessiond/wire"
)

// pane is the other end of an attachment.
type pane struct {
	frames chan []byte // whole frames
	did    chan string
	closed chan struct{}
	once   sync.Once
	buf    []byte
}

func newPane() *pane {
	return &pane{frames: make(chan []byte, 16), did: make(chan string, 64), closed: make(chan struct{})}
}

func (p *pane) Recv() (wire.Kind, []byte, error) {
	select {
	case f, ok := <-p.frames:
		if !ok {
			return 0, nil, io.EOF
		}
		if f == nil {
			panic("broken on purpose")
		}
		return wire.Kind(f[4]), f[wire.HeaderLen:], nil
	case <-p.closed:
		return 0, nil, os.ErrClosed
	}
}

func (p *pane) Input(b []byte) error           { p.did <- "input " + string(b); return nil }
func (p *pane) Resize(c, r uint16) error       { p.did <- fmt.Sprintf("resize %dx%d", c, r); return nil }
func (p *pane) RequestReplay(max uint32) error { p.did <- fmt.Sprint("replay ", max); return nil }
func (p *pane) Close() error                   { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pane) say(whole []byte, err error) {
	if err != nil {
		panic(err)
	}
	p.frames <- whole
}

// desk is a user's terminal with an attachment on it.
type desk struct {
	*testing.T
	user   *os.File // what the user types and sees
	tty    *os.File
	before term.State
	ended  chan result

	mu   sync.Mutex
	seen bytes.Buffer
	more chan struct{} // 1 slot: something was seen
}

func sit(t *testing.T) *desk {
	t.Helper()
	blocking, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(blocking.Fd()))
	if err := errors.Join(err, blocking.Close(), unix.SetNonblock(fd, true)); err != nil {
		t.Fatal(err)
	}
	user := os.NewFile(uintptr(fd), "user") // closing it ends a read that is under way
	d := &desk{T: t, user: user, tty: tty, ended: make(chan result, 1), more: make(chan struct{}, 1)}
	d.resize(100, 30)
	st, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	d.before = *st
	read := make(chan struct{})
	go func() { defer close(read); d.look() }()
	t.Cleanup(func() { _ = tty.Close(); <-read; _ = user.Close() })
	return d
}

func (d *desk) resize(cols, rows uint16) {
	d.Helper()
	raw, err := d.user.SyscallConn()
	if err != nil {
		d.Fatal(err)
	}
	err = errors.Join(raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	}), err)
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) look() {
	buf := make([]byte, 4096)
	for {
		n, err := d.user.Read(buf)
		if err != nil {
			return
		}
		d.mu.Lock()
		d.seen.Write(buf[:n])
		d.mu.Unlock()
		select {
		case d.more <- struct{}{}:
		default:
		}
	}
}

// sees waits until the user has seen want.
func (d *desk) sees(want string) {
	d.Helper()
	deadline := time.After(10 * time.Second)
	for {
		d.mu.Lock()
		got := d.seen.String()
		d.mu.Unlock()
		if strings.Contains(got, want) {
			return
		}
		select {
		case <-d.more:
		case <-deadline:
			d.Fatalf("not seen: %q in %q", want, got)
		}
	}
}

func (d *desk) types(s string) {
	d.Helper()
	if _, err := d.user.Write([]byte(s)); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) attach(ctx context.Context, dial func(context.Context, uint16, uint16) (Remote, error)) {
	go func() {
		var r result
		defer func() { r.panic = recover(); d.ended <- r }()
		r.outcome, r.err = Run(ctx, Options{In: d.tty, Out: d.tty, Dial: one(dial), Retry: func(err error) bool { return errors.Is(err, errGone) }})
	}()
}

// one is a Dial that knows one pane.
func one(dial func(context.Context, uint16, uint16) (Remote, error)) func(context.Context, string, uint16, uint16) (Remote, error) {
	return func(ctx context.Context, _ string, cols, rows uint16) (Remote, error) { return dial(ctx, cols, rows) }
}

var errGone = errors.New("spawnd is gone")

func to(panes ...*pane) func(context.Context, uint16, uint16) (Remote, error) {
	return func(_ context.Context, cols, rows uint16) (Remote, error) {
		if len(panes) == 0 {
			return nil, errGone
		}
		p := panes[0]
		panes = panes[1:]
		p.did <- fmt.Sprintf("attach %dx%d", cols, rows)
		return p, nil
	}
}

func (d *desk) did(p *pane, want string) {
	d.Helper()
	select {
	case got := <-p.did:
		if got != want {
			d.Errorf("the pane got %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		d.Fatalf("the pane did not get %q", want)
	}
}

// result waits for the end, and checks that the terminal is what it was.
func (d *desk) result() result {
	d.Helper()
	select {
	case r := <-d.ended:
		now, err := term.GetState(int(d.tty.Fd()))
		if err != nil || fmt.Sprint(*now) != fmt.Sprint(d.before) {
			d.Errorf("the terminal's mode is not what it was: %v", err)
		}
		return r
	case <-time.After(10 * time.Second):
		d.Fatal("the attachment goes on")
	}
	return result{}
}

// askHistory is what a pane gets once its screen is there.
var askHistory = fmt.Sprint("replay ", historyMax)

const screenMark = "\x1b[8;30;100t"

func TestAttachShowsTypesAndDetaches(t *testing.T) {
	d, p := sit(t), newPane()
	d.attach(t.Context(), to(p))
	d.did(p, "attach 100x30")
	p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"\x1b[1;1HPAINT")))
	p.say(wire.AppendOutput(nil, []byte("live\x1b[c\x1b[6n\r\n")))
	d.sees("PAINT")
	d.sees("live\r\n")
	d.did(p, askHistory)
	if raw, err := term.GetState(int(d.tty.Fd())); err != nil || fmt.Sprint(*raw) == fmt.Sprint(d.before) {
		t.Errorf("the terminal is not raw: %v", err)
	}
	d.types("ls\r\x03") // raw: the return stays one, and ctrl-c interrupts nobody here
	d.did(p, "input ls\r\x03")
	d.types("\x1cd")
	if r := d.result(); r.err != nil || r.outcome.How != Detached {
		t.Errorf("%+v", r)
	}
	<-p.closed
	d.sees("\x1b[?1;5;6") // modes are undone
	if s := d.seen.String(); strings.Contains(s, screenMark) || strings.Contains(s, "\x1b[c") || strings.Contains(s, "\x1b[6n") {
		t.Errorf("the terminal was asked, or its window changed: %q", s)
	}
}

// The exact screen comes first; the history is asked for behind it, and is written once, into the scrollback, with the
// screen painted again after it.
func TestTheScreenComesFirstAndHistoryOnce(t *testing.T) {
	d, p := sit(t), newPane()
	d.attach(t.Context(), to(p))
	d.did(p, "attach 100x30")
	p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"FIRST")))
	d.sees("FIRST") // before any history was there to be asked for
	d.did(p, askHistory)
	full := screenMark + sentinel + "\x1b(B\x0fold line\r\n" + screenMark + "SCREEN"
	p.say(wire.AppendReplay(nil, 0, []byte(full)))
	p.say(wire.AppendReplay(nil, 0, []byte(strings.Replace(full, "SCREEN", "AGAIN", 1))))
	d.sees("AGAIN")
	s := d.seen.String()
	if strings.Count(s, "old line") != 1 || strings.Contains(s, "sp:h1") {
		t.Errorf("seen %q", s)
	}
	at := 0
	for _, want := range []string{"FIRST", hold, "old line", "SCREEN", show, "AGAIN"} {
		n := strings.Index(s[at:], want)
		if n < 0 {
			t.Fatalf("no %q in %q", want, s[at:])
		}
		at += n
	}
	if len(p.did) > 0 {
		t.Errorf("the pane was asked again: %q", <-p.did)
	}
	d.types("\x1cd")
	d.result()
}

func TestEveryWayOutRestoresTheTerminal(t *testing.T) {
	code := 7
	for name, c := range map[string]struct {
		end  func(d *desk, p *pane, cancel context.CancelFunc)
		want func(r result) bool
	}{
		"exit": {func(_ *desk, p *pane, _ context.CancelFunc) { p.say(wire.AppendExit(nil, wire.Exit{ExitCode: &code})) },
			func(r result) bool { return r.outcome.How == Exited && *r.outcome.Exit.ExitCode == 7 && r.err == nil }},
		"loss": {func(_ *desk, p *pane, _ context.CancelFunc) {
			p.say(wire.AppendNotice(nil, wire.Notice{Kind: wire.NoticeDetached, Text: "lost"}))
		}, func(r result) bool { return r.outcome.How == Lost && r.err == nil }},
		"signal": {func(*desk, *pane, context.CancelFunc) { _ = unix.Kill(unix.Getpid(), unix.SIGTERM) },
			func(r result) bool { return r.outcome.How == Interrupted && r.outcome.Signal == unix.SIGTERM }},
		"cancel": {func(_ *desk, _ *pane, cancel context.CancelFunc) { cancel() }, func(r result) bool { return errors.Is(r.err, context.Canceled) }},
		"panic": {func(_ *desk, p *pane, _ context.CancelFunc) { p.frames <- nil },
			func(r result) bool { return strings.Contains(fmt.Sprint(r.panic), "broken on purpose") }},
		"broken frame": {func(_ *desk, p *pane, _ context.CancelFunc) {
			p.say(wire.AppendFrame(nil, wire.KindExit, []byte("[]")))
		},
			func(r result) bool { return errors.Is(r.err, wire.ErrPayload) }},
	} {
		t.Run(name, func(t *testing.T) {
			d, p := sit(t), newPane()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d.attach(ctx, to(p))
			d.did(p, "attach 100x30")
			p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"PAINT")))
			d.sees("PAINT")
			c.end(d, p, cancel)
			if r := d.result(); !c.want(r) {
				t.Errorf("%+v", r)
			}
			d.sees("\x1b[?1;5;6")
			<-p.closed
		})
	}
}

func TestWindowChangesAreTold(t *testing.T) {
	d, p := sit(t), newPane()
	d.attach(t.Context(), to(p))
	d.did(p, "attach 100x30")
	p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"PAINT")))
	d.sees("PAINT")
	d.did(p, askHistory)
	d.resize(90, 20)
	_ = unix.Kill(unix.Getpid(), unix.SIGWINCH)
	d.did(p, "resize 90x20")
	_ = unix.Kill(unix.Getpid(), unix.SIGCONT) // somebody had stopped us
	d.did(p, "resize 90x20")
	d.did(p, "replay 0")
	d.types("\x1cd")
	d.result()
}

func TestALostConnectionIsSoughtAgain(t *testing.T) {
	d, first, second := sit(t), newPane(), newPane()
	dial, back := to(first, second), make(chan struct{})
	d.attach(t.Context(), func(ctx context.Context, c, r uint16) (Remote, error) {
		select {
		case <-first.closed: // spawnd is gone until it is back
			select {
			case <-back:
			default:
				return nil, errGone
			}
		default:
		}
		return dial(ctx, c, r)
	})
	d.did(first, "attach 100x30")
	first.say(wire.AppendReplay(nil, 0, []byte(screenMark+"PAINT")))
	d.sees("PAINT")
	d.did(first, askHistory)
	close(first.frames)
	d.sees("waiting")
	close(back)
	d.did(second, "attach 100x30")
	second.say(wire.AppendReplay(nil, 0, []byte(screenMark+"AGAIN")))
	d.sees("AGAIN")
	d.did(second, askHistory) // the first connection broke before it came
	d.types("x")
	d.did(second, "input x")
	close(second.frames) // now it stays away, and the user has had enough
	d.types("\x1cd")
	if r := d.result(); r.outcome.How != Detached {
		t.Errorf("%+v", r)
	}
}

func TestAClosedTerminalEndsTheAttachment(t *testing.T) {
	d, p := sit(t), newPane()
	d.attach(t.Context(), to(p))
	d.did(p, "attach 100x30")
	p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"PAINT")))
	d.sees("PAINT")
	if err := d.user.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-d.ended; r.outcome.How != HungUp {
		t.Errorf("%+v", r)
	}
	<-p.closed
}

func TestRefusedDialLeavesTheTerminalAlone(t *testing.T) {
	d := sit(t)
	refusal := errors.New("no such pane")
	d.attach(t.Context(), func(context.Context, uint16, uint16) (Remote, error) { return nil, refusal })
	if r := d.result(); !errors.Is(r.err, refusal) {
		t.Errorf("%+v", r)
	}
	if d.seen.Len() != 0 {
		t.Errorf("written %q", d.seen.String())
	}
}

func TestWithoutATerminalNothingIsAttached(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := Run(t.Context(), Options{In: null, Out: null}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("error %v", err)
	}
}
