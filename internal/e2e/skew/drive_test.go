// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package skew drives workers of one build by the fleet of another, as they meet when spawn is upgraded under living terminals.
package skew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fleet"
)

// This file alone is compiled with the earlier commits too, so it uses only what a fleet has always had.

const (
	driveArg = "drive"
	// patience bounds one leg of a drive on a loaded machine.
	patience = 60 * time.Second
	// replayMax asks for all of the history.
	replayMax = 8 << 20
)

// runTests runs the tests. In the present build there is more to it than here.
var runTests = func(m *testing.M) int { return m.Run() }

// TestMain runs the tests or, with "drive LEG FOLDER WORKER SESSION", one leg of one with the fleet that this binary has.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == driveArg {
		if err := drive(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runTests(m))
}

func drive(leg, path, worker, session string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	folder, err := endpoint.OpenFolder(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	id, err := endpoint.ParseSessionID(session)
	if err != nil {
		return err
	}
	f := fleet.New(fleet.Options{Folder: folder, WorkerPath: worker})
	switch leg {
	case "launch":
		err = launchLeg(ctx, f, id)
	case "adopt":
		err = adoptLeg(ctx, f, id)
	default:
		err = errors.New("no such leg")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", leg, err)
	}
	return nil
}

const script = `stty -echo; seq 1 100; echo up; while read -r line; do
[ "$line" = more ] && seq 101 200; echo "got<$line> $(stty size)"; [ "$line" = bye ] && exit 7; done`

// launchLeg starts a terminal, uses it and leaves it running.
func launchLeg(ctx context.Context, f *fleet.Fleet, id endpoint.SessionID) error {
	h, err := f.Launch(ctx, id, fleet.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Cwd: "/", Env: []string{"PATH=/usr/bin:/bin", "TERM=xterm-256color"}, Cols: 80, Rows: 24,
	})
	if err != nil {
		return err
	}
	defer h.Close()
	defer bound(ctx, h)()
	c := &course{Handle: h}
	if err := c.untilOutput("up\r\n"); err != nil {
		return err
	}
	if h.Hello().Can(wire.CapTheme) {
		if err := h.SetTheme(wire.Theme{Foreground: "#ffffff", Background: "#000000", Cursor: "#00ff00"}); err != nil {
			return err
		}
	}
	if err := errors.Join(h.Resize(100, 40), h.Input([]byte("one\n"))); err != nil {
		return err
	}
	return c.untilOutput("got<one> 40 100\r\n")
}

// adoptLeg takes the terminal over, asks for all that the worker says it can, finds in it what the other leg left, and ends it.
func adoptLeg(ctx context.Context, f *fleet.Fleet, id endpoint.SessionID) error {
	h, err := f.Adopt(ctx, id)
	if err != nil {
		return err
	}
	defer h.Close()
	defer bound(ctx, h)()
	c := &course{Handle: h}
	hello := h.Hello()
	if hello.State != wire.StateRunning || hello.Cols != 100 || hello.Rows != 40 {
		return fmt.Errorf("HELLO says %s, %dx%d", hello.State, hello.Cols, hello.Rows)
	}
	if hello.Can(wire.CapHistory) {
		if err := h.SubscribeHistory(true); err != nil {
			return err
		}
	}
	if err := c.checkReplay("1\r\n2\r\n3\r\n", "up", "got<one> 40 100"); err != nil {
		return err
	}
	if err := h.Input([]byte("more\n")); err != nil {
		return err
	}
	if err := c.untilOutput("got<more> 40 100\r\n"); err != nil {
		return err
	}
	if err := c.checkReplay("149\r\n150\r\n", "200"); err != nil {
		return err
	}
	if err := c.checkHistory("101\r\n102\r\n103\r\n"); err != nil {
		return err
	}
	if err := c.checkCapture("1", "99", "100", "up", "got<one> 40 100", "101", "199", "200", "got<more> 40 100"); err != nil {
		return err
	}
	if err := h.Input([]byte("bye\n")); err != nil {
		return err
	}
	if err := c.untilOutput("got<bye> 40 100\r\n"); err != nil {
		return err
	}
	payload, err := c.until(wire.KindExit)
	if err != nil {
		return err
	}
	if e, err := wire.DecodeExit(payload); err != nil || e.ExitCode == nil || *e.ExitCode != 7 {
		return fmt.Errorf("EXIT %+v, %w", e, err)
	}
	return h.Terminate(ctx)
}

// course is what a handle receives. No frame goes by unread: each must be one that this build can decode, and each piece of
// history must begin where the one before ended.
type course struct {
	*fleet.Handle
	anchored      bool
	epoch, offset uint64 // of the end of the history so far
	history       bytes.Buffer
}

// checkReplay asks for all of the history and wants texts in it. The pieces of history before it are exactly those in it.
func (c *course) checkReplay(wants ...string) error {
	if err := c.RequestReplay(replayMax); err != nil {
		return err
	}
	payload, err := c.until(wire.KindReplay)
	if err != nil {
		return err
	}
	_, stream, err := wire.DecodeReplay(payload)
	if err != nil {
		return err
	}
	for _, want := range wants {
		if !strings.Contains(string(stream), want) {
			return fmt.Errorf("the replay of %d bytes lacks %q", len(stream), want)
		}
	}
	return nil
}

// checkHistory wants a text in the pieces, if the worker gives any.
func (c *course) checkHistory(want string) error {
	if !c.Hello().Can(wire.CapHistory) {
		return nil
	}
	if !c.anchored || !strings.Contains(c.history.String(), want) {
		return fmt.Errorf("the pieces of history, anchored %v, lack %q: %.200q", c.anchored, want, c.history.String())
	}
	return nil
}

// checkCapture wants rows in this order, if the worker can tell them.
func (c *course) checkCapture(wants ...string) error {
	hello := c.Hello()
	if !hello.Can(wire.CapCapture) {
		return nil
	}
	if err := c.RequestCapture(wire.CaptureReq{What: wire.CaptureAll, MaxRows: 1000, MaxBytes: replayMax, Wraps: hello.Can(wire.CapWraps)}); err != nil {
		return err
	}
	payload, err := c.until(wire.KindCapture)
	if err != nil {
		return err
	}
	capture, err := wire.DecodeCapture(payload)
	if err != nil {
		return err
	}
	rows := append(capture.History, capture.Screen...)
	at := 0
	for _, want := range wants {
		for at < len(rows) && strings.TrimRight(rows[at], " ") != want {
			at++
		}
		if at == len(rows) {
			return fmt.Errorf("the capture of %d and %d rows lacks %q behind what came before", len(capture.History), len(capture.Screen), want)
		}
	}
	return nil
}

// until receives up to the first frame of a kind.
func (c *course) until(kind wire.Kind) ([]byte, error) {
	for {
		k, payload, err := c.Recv()
		if err == nil {
			err = c.take(k, payload)
		}
		if err != nil {
			return nil, fmt.Errorf("wait for %v: %w", kind, err)
		}
		if k == kind {
			return payload, nil
		}
	}
}

// take looks at a frame that nobody waits for.
func (c *course) take(kind wire.Kind, payload []byte) error {
	switch kind {
	case wire.KindHistory:
		piece, err := wire.DecodeHistory(payload)
		if err != nil {
			return err
		}
		if c.anchored && (piece.Epoch != c.epoch || piece.Offset != c.offset) {
			return fmt.Errorf("history of epoch %d at %d, want epoch %d at %d", piece.Epoch, piece.Offset, c.epoch, c.offset)
		}
		if !c.anchored && len(piece.Text) > 0 {
			return fmt.Errorf("history at %d before its anchor", piece.Offset)
		}
		c.anchored, c.epoch, c.offset = true, piece.Epoch, piece.Offset+uint64(len(piece.Text))
		c.history.Write(piece.Text)
	case wire.KindHistoryWipe:
		return errors.New("the history is wiped and nobody asked for that")
	case wire.KindNotice:
		_, err := wire.DecodeNotice(payload)
		return err
	case wire.KindForeground:
		_, err := wire.DecodeForeground(payload)
		return err
	}
	return nil
}

func (c *course) untilOutput(text string) error {
	var out bytes.Buffer
	for !strings.Contains(out.String(), text) {
		payload, err := c.until(wire.KindOutput)
		if err != nil {
			return fmt.Errorf("after %q: %w", out.String(), err)
		}
		out.Write(payload)
	}
	return nil
}

// bound closes the handle when the context ends, which lets Recv go.
func bound(ctx context.Context, h *fleet.Handle) (unbind func() bool) {
	return context.AfterFunc(ctx, h.Close)
}
