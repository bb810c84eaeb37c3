// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/topology"
)

// revisitPatience is how long a loop may take that has something to find: pauses and tries of it, not a measure.
const revisitPatience = 20 * time.Second

// leftAlone is a stopped worker that spawnd did not get an answer of, and the panes of that spawnd.
type leftAlone struct {
	*panes
	t      *testing.T
	id     endpoint.SessionID
	worker int // its process
	lives  func() bool
}

// leaveAlone makes one. Its pane is p0 of the tree if that knows it.
func leaveAlone(t *testing.T, known bool) *leftAlone {
	t.Helper()
	f, h, lives := launched(t)
	l := &leftAlone{t: t, id: h.ID(), worker: h.WorkerPID(), lives: lives}
	h.Close()
	log := slog.New(slog.DiscardHandler)
	l.panes = &panes{
		fleet: f, store: topology.NewStore(filepath.Join(t.TempDir(), "topology.json")), board: page.NewBoard(), log: log, keeper: newKeeper(log),
		inForce: func() config.Config { return config.Config{} }, dirty: make(chan struct{}, 1),
	}
	l.mu.byID = map[string]*pane{}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if known {
		tree, _, err := topology.Tree{}.NewPane("", topology.Start{Worker: string(l.id)})
		if err != nil {
			t.Fatal(err)
		}
		l.mu.tree = tree
	}
	l.signal(unix.SIGSTOP)
	var status unix.Siginfo
	if err := unix.Waitid(unix.P_PID, l.worker, &status, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before launched's, which asks the worker to end
		_ = unix.Kill(l.worker, unix.SIGCONT)
		l.cancel()
		l.running.Wait()
	})
	return l
}

func (l *leftAlone) signal(s unix.Signal) {
	l.t.Helper()
	if err := unix.Kill(l.worker, s); err != nil {
		l.t.Fatal(err)
	}
}

// loop begins to come back to the worker. The channel is closed when nobody needs to come any more.
func (l *leftAlone) loop() <-chan struct{} {
	ended := make(chan struct{})
	l.running.Add(1)
	go func() {
		defer close(ended)
		l.revisitLoop([]endpoint.SessionID{l.id})
	}()
	return ended
}

func (l *leftAlone) await(ended <-chan struct{}) {
	l.t.Helper()
	select {
	case <-ended:
	case <-time.After(revisitPatience):
		l.t.Fatal("it still comes back")
	}
}

// only is the one pane there is, and what the file says of it.
func (l *leftAlone) only() (Row, topology.Pane) {
	l.t.Helper()
	rows := l.Rows()
	saved, err := l.store.Load()
	if err != nil || len(rows) != 1 || len(saved.Tree.Panes) != 1 {
		l.t.Fatalf("%d panes, %d in the file, %v", len(rows), len(saved.Tree.Panes), err)
	}
	return rows[0], saved.Tree.Panes[0]
}

// A worker that could not answer at spawnd's start is adopted when it can, in the pane that it had.
func TestAWorkerThatWasLeftAloneIsAdoptedWhenItGoesOn(t *testing.T) {
	l := leaveAlone(t, true)
	if l.revisit(l.id) {
		t.Fatal("a stopped worker is given up")
	}
	if row, err := l.Row("p0"); err != nil || row.State != StateRunning || len(l.mu.byID) != 0 {
		t.Fatalf("while it is stopped its pane is %+v, %v", row, err)
	}
	l.signal(unix.SIGCONT)
	l.await(l.loop())
	row, saved := l.only()
	if row.ID != "p0" || row.State != StateRunning || row.PID != l.worker || saved.ID != "p0" || saved.End != nil {
		t.Errorf("its pane is %+v, in the file %+v", row, saved)
	}
}

func TestAWorkerThatWasLeftAloneWithoutAPaneGetsOne(t *testing.T) {
	l := leaveAlone(t, false)
	l.signal(unix.SIGCONT)
	l.await(l.loop())
	row, saved := l.only()
	if row.State != StateRunning || row.Worker != l.id || saved.SessionID != string(l.id) {
		t.Errorf("its pane is %+v, in the file %+v", row, saved)
	}
}

// One that ends instead is lost, and its pane says so: nothing else would ever look at it again.
func TestAWorkerThatWasLeftAloneAndEndsIsLost(t *testing.T) {
	l := leaveAlone(t, true)
	l.signal(unix.SIGKILL)
	l.await(l.loop())
	row, saved := l.only()
	if row.ID != "p0" || row.State != StateLost || saved.End == nil || saved.End.Known() {
		t.Errorf("its pane is %+v, in the file %+v", row, saved)
	}
}

// A spawnd that closes comes back no more, and does not call a worker lost that is only stopped.
func TestNobodyComesBackAfterTheEnd(t *testing.T) {
	l := leaveAlone(t, true)
	ended := l.loop()
	l.cancel()
	l.await(ended)
	if row, err := l.Row("p0"); err != nil || row.State != StateRunning || !l.lives() {
		t.Errorf("its pane is %+v, %v; lives: %v", row, err, l.lives())
	}
}
