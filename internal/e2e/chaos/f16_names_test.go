// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fleet"
)

// F16: a worker is killed and another takes its name at once. The new one is reachable and answers to itself alone:
// a signal that was meant for the old one does nothing to it.
func TestF16NameTakenAgainAtOnce(t *testing.T) {
	c := rig.Begin(t, "F16 name taken again at once")
	h := rig.NewHost(t)
	folder, err := endpoint.OpenFolder(h.WorkerDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	f := fleet.New(fleet.Options{Folder: folder, WorkerPath: h.Programs + "/spawn-worker"})
	id := endpoint.NewSessionID()
	var earlier []endpoint.InstanceID
	for range rig.Size(100, 10000) {
		handle, err := launchAgain(t.Context(), f, id)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := endpoint.ParseInstanceID(handle.Hello().InstanceID)
		if err != nil {
			t.Fatal(err)
		}
		if len(earlier) > 0 {
			old := earlier[c.Random.IntN(len(earlier))]
			if ack, err := folder.Signal(t.Context(), id, old, endpoint.SignalKILL); err != nil || ack != endpoint.AckStale {
				t.Fatalf("a KILL for an earlier instance came to %v, %v", ack, err)
			}
		}
		if err := handle.Input([]byte("here\r")); err != nil {
			t.Fatal(err)
		}
		received := make(chan error, 1)
		go func() { received <- drain(handle) }()
		if c.Random.IntN(2) == 0 {
			err = syscall.Kill(handle.WorkerPID(), syscall.SIGKILL)
		} else {
			err = handle.Terminate(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Faults++
		if err := <-received; !errors.Is(err, fleet.ErrGone) {
			t.Fatal(err)
		}
		handle.Close()
		earlier = append(earlier, instance)
		c.Runs++
	}
	if err := f.AwaitChildren(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.AwaitNothingLeft()
}

// launchAgain launches as soon as the name is free: a dying worker may hold its lock a moment longer.
func launchAgain(ctx context.Context, f *fleet.Fleet, id endpoint.SessionID) (*fleet.Handle, error) {
	spec := fleet.Spec{Argv: []string{"cat"}, Cwd: "/", Env: []string{"PATH=/usr/bin:/bin"}, Cols: 80, Rows: 24}
	for {
		handle, err := f.Launch(ctx, id, spec)
		if !errors.Is(err, endpoint.ErrReserved) {
			return handle, err
		}
	}
}

// drain receives until the end.
func drain(h *fleet.Handle) error {
	for {
		k, _, err := h.Recv()
		if err != nil {
			return err
		}
		if k == wire.KindHello {
			return errors.New("a second HELLO")
		}
	}
}
