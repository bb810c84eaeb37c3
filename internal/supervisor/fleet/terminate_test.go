// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/wire"
)

// A terminal that is closed while its program is just being started ends in an orderly way: the worker says that
// it has no program, then has one. The files tell: a worker that was killed would leave them.
func TestATerminalIsTerminatedWhileItStarts(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("starting")
	h := house.launch(f)
	next(t, h, wire.KindOutput)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			if _, _, err := h.Recv(); err != nil {
				return
			}
		}
	}()
	if err := h.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-drained
	if err := f.AwaitChildren(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := house.files(); len(names) > 0 {
		t.Errorf("the worker was killed and left %v", names)
	}
	h.Close()
}

// A dying worker's connection may be gone before its lock: what it leaves is removed all the same.
func TestWhatADyingWorkerLeavesIsRemoved(t *testing.T) {
	house := newHouse(t)
	h := house.launch(house.fleet("heir"))
	next(t, h, wire.KindOutput)
	if err := unix.Kill(h.WorkerPID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err := h.Recv(); err != nil {
			break
		}
	}
	h.Close()
	if names := house.files(); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}
