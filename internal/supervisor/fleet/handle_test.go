// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

func TestCommandsArriveInOrder(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("good"))
	next(t, h, wire.KindOutput)
	theme := wire.Theme{Foreground: "#ffffff", Background: "#000000", Cursor: "#00ff00"}
	for _, err := range []error{
		h.Input([]byte("a")), h.Resize(100, 30), h.Resize(80, 25), h.Resize(80, 25), h.Input([]byte("b")), h.RequestReplay(7),
		h.SubscribeHistory(true), h.SetTheme(theme), h.Resize(80, 26), h.Input(nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		kind wire.Kind
		text string
	}{
		{wire.KindOutput, "a"}, {wire.KindOutput, "size 80x25"}, {wire.KindOutput, "b"}, {wire.KindReplay, "\x07" + strings.Repeat("\x00", 7+7)},
		{wire.KindHistory, "\x01" + strings.Repeat("\x00", 15)}, {wire.KindOutput, "theme"}, {wire.KindOutput, "size 80x26"}, {wire.KindOutput, ""},
	} {
		if got := next(t, h, want.kind); got != want.text {
			t.Fatalf("%v %q, want %q", want.kind, got, want.text)
		}
	}
}

func TestInputAtItsLimit(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("good"))
	next(t, h, wire.KindOutput)
	typed := bytes.Repeat([]byte("x"), InputMax)
	if err := h.Input(append(typed, 'x')); !errors.Is(err, ErrTooLong) {
		t.Fatalf("one byte more: %v", err)
	}
	if err := h.Input(typed); err != nil {
		t.Fatal(err)
	}
	clear(typed) // the bytes are the caller's again
	if got := next(t, h, wire.KindOutput); got != strings.Repeat("x", InputMax) {
		t.Fatalf("%d bytes came back, not those that were typed", len(got))
	}
	for _, size := range [][2]uint16{{0, 24}, {80, 0}, {1001, 24}} {
		if err := h.Resize(size[0], size[1]); !errors.Is(err, wire.ErrPayload) {
			t.Errorf("size %v: %v", size, err)
		}
	}
	if err := h.SetTheme(wire.Theme{}); err == nil {
		t.Error("an empty theme was sent")
	}
	if err := h.Input([]byte("y")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, h, wire.KindOutput); got != "y" {
		t.Fatalf("after refused commands came %q", got)
	}
}

// A stopped worker fills its queue and no more; nobody waits for it; what was accepted arrives when it
// goes on, and nothing else.
func TestAStoppedWorkerFillsItsQueueOnly(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("good"))
	next(t, h, wire.KindOutput)
	house.stop(h.WorkerPID())
	const inTheKernel = 8 // more of the largest ones than a socket takes beside the queue, and the one being written
	block := make([]byte, InputMax)
	accepted := 0
	for ; ; accepted++ {
		block[0] = byte(accepted)
		if err := h.Input(block); errors.Is(err, ErrBusy) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if accepted > commandsMax+inTheKernel {
			t.Fatal("the queue has no end")
		}
	}
	if accepted < commandsMax {
		t.Fatalf("only %d commands were accepted", accepted)
	}
	if err := h.Resize(10, 10); !errors.Is(err, ErrBusy) {
		t.Fatalf("Resize: %v", err)
	}
	if err := unix.Kill(h.WorkerPID(), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for n := range accepted {
		if got := next(t, h, wire.KindOutput); len(got) != InputMax || got[0] != byte(n) {
			t.Fatalf("command %d came back as %d bytes that begin with %d", n, len(got), got[0])
		}
	}
	if err := h.Resize(10, 10); err != nil { // the size that was refused is not taken for the worker's
		t.Fatal(err)
	}
	if got := next(t, h, wire.KindOutput); got != "size 10x10" {
		t.Fatalf("then came %q", got)
	}
}

func TestWhatWasTypedIsWiped(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("good"))
	next(t, h, wire.KindOutput)
	secret := []byte("correct horse battery staple")
	if err := h.Input(secret); err != nil {
		t.Fatal(err)
	}
	next(t, h, wire.KindOutput)
	h.Close() // joins the writer
	select {
	case spare := <-h.out.spares:
		if whole := spare[:cap(spare)]; bytes.Contains(whole, secret[:4]) {
			t.Fatalf("a spare buffer holds %q", whole)
		}
	default:
		t.Fatal("the buffer did not come back")
	}
}

func TestCloseLetsAcceptedCommandsLeave(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("good")
	h := house.launch(f)
	next(t, h, wire.KindOutput)
	house.stop(h.WorkerPID())
	if err := errors.Join(h.Resize(44, 11), h.Input([]byte("last words"))); err != nil {
		t.Fatal(err)
	}
	pid := h.WorkerPID()
	began := time.Now()
	h.Close()
	h.Close()
	if took := time.Since(began); took > flushMax+time.Second+raceAllowance {
		t.Errorf("Close took %v", took)
	}
	if err := h.Input([]byte("x")); !errors.Is(err, ErrGone) {
		t.Errorf("Input after Close: %v", err)
	}
	if _, _, err := h.Recv(); !errors.Is(err, ErrGone) {
		t.Errorf("Recv after Close: %v", err)
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// The worker serves its queue of connections and each one's bytes in order; ask until it has.
	for ctx, size := t.Context(), uint16(0); size != 44; {
		again, err := f.Adopt(ctx, h.ID())
		if err != nil {
			t.Fatal(err)
		}
		size = again.Hello().Cols
		again.Close()
	}
}

func TestAKilledWorkerIsGoneAndLeavesNothing(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("good")
	h, other := house.launch(f), house.launch(f)
	next(t, h, wire.KindOutput)
	next(t, other, wire.KindOutput)
	if err := killPeer(h.conn); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Recv(); !errors.Is(err, ErrGone) {
		t.Fatalf("Recv: %v", err)
	}
	if alive, err := h.Alive(); alive || err != nil {
		t.Fatalf("Alive = %v, %v", alive, err)
	}
	if ack, err := h.Signal(t.Context(), endpoint.SignalTERM); ack != endpoint.AckGone || err != nil {
		t.Fatalf("Signal = %v, %v", ack, err)
	}
	if err := h.Terminate(t.Context()); err != nil {
		t.Fatalf("Terminate: %v", err)
	}
	for err := error(nil); !errors.Is(err, ErrGone); err = h.Input([]byte("x")) {
		if err != nil && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	if _, err := f.Adopt(t.Context(), h.ID()); err == nil || err.(*Refusal).Code != CodeEnded {
		t.Fatalf("Adopt while the old handle is open: %v", err)
	}
	h.Close()
	for _, name := range house.files() {
		if !strings.HasPrefix(name, string(other.ID())) {
			t.Errorf("%s is left behind", name)
		}
	}
	if err := other.Input([]byte("fine")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, other, wire.KindOutput); got != "fine" {
		t.Fatalf("the other terminal says %q", got)
	}
}

func TestCloseAfterALossSweeps(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("good"))
	if err := killPeer(h.conn); err != nil {
		t.Fatal(err)
	}
	<-inBackground(h)
	if alive, err := h.Alive(); alive || err != nil {
		t.Fatalf("Alive = %v, %v", alive, err)
	}
	h.Close()
	if names := house.files(); len(names) > 0 {
		t.Fatalf("left behind: %v", names)
	}
}

func TestJunkEndsItsConnectionOnly(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("junk")
	h := house.launch(f)
	next(t, h, wire.KindOutput)
	for range 2 {
		if _, _, err := h.Recv(); !errors.Is(err, ErrGone) || !errors.Is(err, wire.ErrUnknownKind) {
			t.Fatalf("Recv: %v", err)
		}
	}
	if alive, err := h.Alive(); !alive || err != nil {
		t.Fatalf("Alive = %v, %v", alive, err)
	}
	again, err := f.Adopt(t.Context(), h.ID()) // the old handle is lost, and holds nothing
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	if !f.holds(h.ID()) {
		t.Fatal("closing the old handle let the new one go")
	}
	if err := again.Input([]byte("ok")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, again, wire.KindOutput); got != "ok" {
		t.Fatalf("then came %q", got)
	}
}

func TestTerminate(t *testing.T) {
	for fault, want := range map[string]struct {
		signal string
		least  time.Duration
		most   time.Duration
	}{
		"good":     {"SIGTERM", 0, time.Second},
		"stubborn": {"SIGKILL", termGrace, termGrace + time.Second},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			house := newHouse(t)
			f := house.fleet(fault)
			h := house.launch(f)
			next(t, h, wire.KindOutput)
			exit := make(chan wire.Exit, 1)
			var receiving sync.WaitGroup
			receiving.Go(func() {
				for {
					k, p, err := h.Recv()
					if err != nil {
						return
					}
					if k == wire.KindExit {
						e, _ := wire.DecodeExit(p)
						exit <- e
					}
				}
			})
			began := time.Now()
			var calls sync.WaitGroup
			for range 3 {
				calls.Go(func() {
					if err := h.Terminate(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if took := time.Since(began); took < want.least || took > want.most+raceAllowance {
				t.Errorf("it took %v", took)
			}
			if e := <-exit; e.Signal != want.signal {
				t.Errorf("the program ended with %+v", e)
			}
			h.Close()
			receiving.Wait()
			if err := h.Terminate(t.Context()); err != nil {
				t.Errorf("once more: %v", err)
			}
			if err := f.AwaitChildren(t.Context()); err != nil {
				t.Error(err)
			}
			if names := house.files(); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// A stopped worker answers no request. It is then killed as the process that it is, also where the kernel keeps no more of it than
// its number.
func TestTerminateKillsAStoppedWorker(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T){"as the kernel does": func(*testing.T) {}, "before Linux 6.5": beforePeerPidfd} {
		t.Run(name, func(t *testing.T) {
			prepare(t)
			house := newHouse(t)
			f := house.fleet("good")
			h := house.launch(f)
			next(t, h, wire.KindOutput)
			lost := inBackground(h)
			house.stop(h.WorkerPID())
			if err := h.Terminate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-lost; !errors.Is(err, ErrGone) {
				t.Fatal(err)
			}
			if marked(h.exited) {
				t.Error("an end that nobody saw was taken for an exit")
			}
			if alive, err := h.Alive(); alive || err != nil {
				t.Errorf("Alive = %v, %v", alive, err)
			}
		})
	}
}

// beforePeerPidfd makes the kernel seem not to know the processes at the ends of sockets.
func beforePeerPidfd(t *testing.T) {
	known := peerPidfd
	peerPidfd = func(int) (int, error) { return -1, unix.ENOPROTOOPT }
	t.Cleanup(func() { peerPidfd = known })
}

func TestTerminateStopsWithItsContext(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("stubborn"))
	next(t, h, wire.KindOutput)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("changed my mind")
	go func() {
		next(t, h, wire.KindOutput) // it has been told
		cancel(reason)
	}()
	if err := h.Terminate(ctx); !errors.Is(err, reason) {
		t.Fatalf("Terminate: %v", err)
	}
	if alive, err := h.Alive(); !alive || err != nil {
		t.Fatalf("Alive = %v, %v", alive, err)
	}
}

func TestAnOlderWorkerIsNotSentWhatItDoesNotKnow(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("good"))
	h.hello.Capabilities = nil
	if err := h.SetTheme(wire.Theme{}); !errors.Is(err, ErrCapability) {
		t.Errorf("SetTheme: %v", err)
	}
	if err := h.RequestCapture(wire.CaptureReq{What: wire.CaptureScreen}); !errors.Is(err, ErrCapability) {
		t.Errorf("capture: %v", err)
	}
	if err := h.SubscribeHistory(true); !errors.Is(err, ErrCapability) {
		t.Errorf("SubscribeHistory: %v", err)
	}
}

// A write that fails says so to those who queue, and leaves what the worker said last to be read.
func TestAFailedWriteLeavesLastWordsReadable(t *testing.T) {
	ours, theirs := pair(t)
	o := newOutbound(ours)
	frame, _ := wire.AppendExit(nil, wire.Exit{Signal: "SIGHUP"})
	if _, err := theirs.Write(frame); err != nil {
		t.Fatal(err)
	}
	if err := theirs.CloseRead(); err != nil { // as a worker that still writes and reads no more
		t.Fatal(err)
	}
	for err := error(nil); !errors.Is(err, ErrGone); {
		b, _ := wire.AppendInput(o.buffer(), []byte("x"))
		if err = o.queue(b); err != nil && !errors.Is(err, ErrGone) && !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	if k, _, err := wire.NewReader(ours, wire.FromWorker).Next(); k != wire.KindExit || err != nil {
		t.Fatalf("Next = %v, %v", k, err)
	}
	o.close()
}

// A frame that the socket takes in part is finished before the next, and while nothing waits none needs the writer.
func TestFramesGoAtOnceAndNeverPassEachOther(t *testing.T) {
	ours, theirs := pair(t)
	o := newOutbound(ours)
	defer o.close()
	if err := ours.SetWriteBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	send := func(n byte, size int) error {
		b, err := wire.AppendInput(o.buffer(), bytes.Repeat([]byte{n}, size))
		if err != nil {
			t.Fatal(err)
		}
		return o.queue(b)
	}
	if err := send(0, 1); err != nil || len(o.frames) != 0 || o.queued != 0 {
		t.Fatalf("a key is queued: %v", err)
	}
	frames := wire.NewReader(theirs, wire.ToWorker)
	for n := byte(1); n < 30; n++ { // the first is larger than the socket's buffer
		if err := send(n, 40_000/int(n)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range byte(30) {
		_, got, err := frames.Next()
		if err != nil || got[0] != n || got[len(got)-1] != n || n > 0 && len(got) != 40_000/int(n) {
			t.Fatalf("frame %d came as %d bytes of %d: %v", n, len(got), got[0], err)
		}
	}
}

func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), fmt.Sprint("pair", i))
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conns[i] = conn.(*net.UnixConn)
	}
	return conns[0], conns[1]
}

// Descriptors and goroutines come back: nothing is left of a hundred detaches but the worker.
func TestAttachAndDetachLeakNothing(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("good")
	h := house.launch(f)
	next(t, h, wire.KindOutput)
	h.Close()
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := count()
	for range 100 {
		again, err := f.Adopt(t.Context(), h.ID())
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
	}
	if after := count(); after > before {
		t.Errorf("descriptors went from %d to %d", before, after)
	}
	if names, _ := filepath.Glob(filepath.Join(house.folder.Path(), "*")); len(names) != 3 {
		t.Errorf("files: %v", names)
	}
}
