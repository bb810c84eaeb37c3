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

// This file and the build's are compiled with the earlier commit too, so they use only what a fleet has always had.

const (
	driveArg = "drive"
	// patience bounds one leg of a drive on a loaded machine.
	patience = 60 * time.Second
	// replayMax asks for all of the history.
	replayMax = 8 << 20
)

// TestMain runs the tests or, with "drive LEG FOLDER WORKER SESSION", one leg of one with the fleet that this binary has.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == driveArg {
		if err := drive(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if built.folder != "" {
		os.RemoveAll(built.folder)
	}
	os.Exit(code)
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

const script = `stty -echo; seq 1 100; echo up; while read -r line; do echo "got<$line> $(stty size)"; [ "$line" = bye ] && exit 7; done`

// launchLeg starts a terminal, uses all that the worker says it can, and leaves it running.
func launchLeg(ctx context.Context, f *fleet.Fleet, id endpoint.SessionID) error {
	h, err := f.Launch(ctx, id, fleet.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Cwd: "/", Env: []string{"PATH=/usr/bin:/bin", "TERM=xterm-256color"}, Cols: 80, Rows: 24,
	})
	if err != nil {
		return err
	}
	defer h.Close()
	defer bound(ctx, h)()
	if err := untilOutput(h, "up\r\n"); err != nil {
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
	return untilOutput(h, "got<one> 40 100\r\n")
}

// adoptLeg takes the terminal over, finds in it what the other leg left, and ends it.
func adoptLeg(ctx context.Context, f *fleet.Fleet, id endpoint.SessionID) error {
	h, err := f.Adopt(ctx, id)
	if err != nil {
		return err
	}
	defer h.Close()
	defer bound(ctx, h)()
	hello := h.Hello()
	if hello.State != wire.StateRunning || hello.Cols != 100 || hello.Rows != 40 {
		return fmt.Errorf("HELLO says %s, %dx%d", hello.State, hello.Cols, hello.Rows)
	}
	if hello.Can(wire.CapHistory) {
		if err := h.SubscribeHistory(true); err != nil {
			return err
		}
	}
	if err := h.RequestReplay(replayMax); err != nil {
		return err
	}
	if err := checkReplay(h); err != nil {
		return err
	}
	if err := h.Input([]byte("bye\n")); err != nil {
		return err
	}
	if err := untilOutput(h, "got<bye> 40 100\r\n"); err != nil {
		return err
	}
	payload, err := until(h, wire.KindExit)
	if err != nil {
		return err
	}
	if e, err := wire.DecodeExit(payload); err != nil || e.ExitCode == nil || *e.ExitCode != 7 {
		return fmt.Errorf("EXIT %+v, %w", e, err)
	}
	return h.Terminate(ctx)
}

func checkReplay(h *fleet.Handle) error {
	payload, err := until(h, wire.KindReplay)
	if err != nil {
		return err
	}
	_, stream, err := wire.DecodeReplay(payload)
	if err != nil {
		return err
	}
	for _, want := range []string{"1\r\n2\r\n3\r\n", "up", "got<one> 40 100"} {
		if !strings.Contains(string(stream), want) {
			return fmt.Errorf("the replay of %d bytes lacks %q", len(stream), want)
		}
	}
	return nil
}

// until receives up to the first frame of a kind.
func until(h *fleet.Handle, kind wire.Kind) ([]byte, error) {
	for {
		k, payload, err := h.Recv()
		if err != nil {
			return nil, fmt.Errorf("wait for %v: %w", kind, err)
		}
		if k == kind {
			return payload, nil
		}
	}
}

func untilOutput(h *fleet.Handle, text string) error {
	var out bytes.Buffer
	for !strings.Contains(out.String(), text) {
		payload, err := until(h, wire.KindOutput)
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
