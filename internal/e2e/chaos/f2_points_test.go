// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// F2: spawnd is killed at each of its points, in a life in which it starts on a wreck and does all that it can do.
// The next one leaves no orphan, no leftover and no terminal twice, and the neighbour notices nothing. A point that
// no such life reaches fails.
func TestF2SupervisorKilledAtEachPoint(t *testing.T) {
	c := rig.Begin(t, "F2 spawnd killed at points")
	a := newArmed(c)
	a.keepCheckpoints()
	folder := a.folder()
	hits, laterHits := map[failpoint.Point]int{}, 0
	a.wreck(folder)
	if a.live(t, "", 1) {
		t.Fatal("spawnd dies without a point")
	}
	whole := a.passed()
	for range rig.Size(1, 20) {
		for _, point := range spawndPoints(t) {
			t.Run(string(point), func(t *testing.T) {
				a.within(t)
				a.wreck(folder)
				nth := a.passage(point, whole)
				if !a.live(t, point, nth) { // it came by less often than in the whole life
					a.passed()
					a.wreck(folder)
					if nth = 1; !a.live(t, point, nth) {
						t.Fatal("no life comes by here")
					}
				}
				passed := a.passed()
				if passed[point] != nth {
					t.Fatalf("passed %d times and not %d, of all: %v", passed[point], nth, passed)
				}
				laterHits += min(nth-1, 1)
				hits[point]++
				c.Faults++
				d := a.h.Serve()
				a.requireStoreInOrder(t)
				a.requireOrder(t, d)
				d.Kill()
				c.Runs++
			})
		}
	}
	t.Logf("%d of the deaths were at a later passage than the first; hits: %v", laterHits, hits)
	for point, n := range hits {
		if n != c.Runs/len(hits) {
			t.Errorf("%s was hit %d times of %d", point, n, c.Runs/len(hits))
		}
	}
	if laterHits == 0 {
		t.Error("every death was at the first passage")
	}
	a.end()
}

// keepCheckpoints has the next spawnd write checkpoints, when it is asked to and when it ends, and keep one.
func (a *armed) keepCheckpoints() {
	a.Helper()
	settings := filepath.Join(a.h.Dir, "c", "spawn", "config.hujson")
	if err := os.WriteFile(settings, []byte(`{"recovery":{"enabled":true,"interval_ms":3600000,"max_checkpoints":1}}`), 0o600); err != nil {
		a.Fatal(err)
	}
}

// stores are the folders with checkpoints: one, once a spawnd has been there.
func (a *armed) stores() []string {
	a.Helper()
	found, err := filepath.Glob(a.h.Dir + "/s/spawn/recovery/*")
	if err != nil {
		a.Fatal(err)
	}
	return found
}

// requireStoreInOrder wants every checkpoint that is there to be whole, and nothing half written beside them.
func (a *armed) requireStoreInOrder(t *testing.T) {
	t.Helper()
	var list verbs.RecoveryListResult
	a.h.Call(verbs.RecoveryList, verbs.Empty{}, &list)
	for _, c := range list.Checkpoints {
		if c.Status != "valid" {
			t.Errorf("a checkpoint is %+v", c)
		}
	}
	for _, store := range a.stores() {
		if left, _ := filepath.Glob(filepath.Join(store, ".tmp-*")); len(left) > 0 {
			t.Errorf("left in the store: %v", left)
		}
	}
}

// wreck leaves what spawnds and workers that were killed leave: a worker that was never started, the files of one that is dead,
// a reply folder whose session is over, and a checkpoint that was being written.
func (a *armed) wreck(folder *endpoint.Folder) {
	a.Helper()
	a.startWorker(folder)
	dead := a.startWorker(folder)
	_ = dead.Process.Kill()
	_ = dead.Wait()
	if err := os.Mkdir(filepath.Join(folder.Path(), string(endpoint.NewSessionID())+".reply"), 0o700); err != nil {
		a.Fatal(err)
	}
	for _, store := range a.stores() {
		if err := os.WriteFile(filepath.Join(store, ".tmp-"+string(endpoint.NewSessionID())), []byte("half a check"), 0o600); err != nil {
			a.Fatal(err)
		}
	}
}

// startWorker starts a worker as spawnd does and waits until it listens. Nobody sends it START.
func (a *armed) startWorker(folder *endpoint.Folder) *exec.Cmd {
	a.Helper()
	id := endpoint.NewSessionID()
	r, err := folder.Reserve(id)
	if err != nil {
		a.Fatal(err)
	}
	defer r.Release()
	report, theirs, err := os.Pipe()
	if err != nil {
		a.Fatal(err)
	}
	defer report.Close()
	cmd := exec.Command(filepath.Join(a.h.Programs, "spawn-worker"), "--session-id", string(id), "--worker-dir", folder.Path())
	cmd.Stderr, cmd.ExtraFiles = theirs, []*os.File{r.File()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { _ = cmd.Wait() })
	if words, err := readAll(report); err != nil || len(words) > 0 {
		a.Fatalf("the worker says %q, %v", words, err)
	}
	return cmd
}

func readAll(f *os.File) ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(f)
	return b.Bytes(), err
}

// live starts a spawnd that dies at a passage of the point, asks it for everything until it is dead, and at last to
// end. It reports whether it died; it must not have ended in any other way but well.
func (a *armed) live(t *testing.T, point failpoint.Point, nth int) (died bool) {
	t.Helper()
	d, err := a.h.TryServe(a.orders(point, nth))
	if err == nil {
		neighbour, err := rig.Follow(t.Context(), a.h.Socket(), a.neighbour, rig.History)
		_ = a.everything()
		_ = d.Cmd.Process.Signal(syscall.SIGTERM)
		if err == nil {
			if _, err := neighbour.Wait(); err != nil {
				t.Error(err)
			}
		}
		_ = d.Wait()
	}
	died = diedByKill(d.Cmd.ProcessState)
	if !died && !d.Cmd.ProcessState.Success() {
		t.Fatalf("spawnd ended with %v and not at its point\n%s", d.Cmd.ProcessState, d.Log)
	}
	return died
}

// everything is what callers ask of spawnd. It returns the first error, which is spawnd's death.
func (a *armed) everything() error {
	first, err := a.open("cat")
	if err != nil {
		return err
	}
	if err := a.converse(first); err != nil {
		return err
	}
	call := func(verb string, params, result any) error {
		return a.h.Socket().Call(a.Context(), verb, params, result)
	}
	if err := a.checkpoint(); err != nil {
		return err
	}
	if err := call(verbs.PaneRename, verbs.PaneRenameParams{Pane: first.ID, Name: "renamed"}, &verbs.PaneResult{}); err != nil {
		return err
	}
	if err := call(verbs.PaneRestart, verbs.PaneRestartParams{Pane: first.ID}, &verbs.PaneResult{}); err != nil {
		return err
	}
	off := a.switchOn("broken")
	_, err = a.open("cat")
	off()
	if err == nil || isGone(err) {
		return err
	}
	if err := call(verbs.PaneClose, verbs.PaneCloseParams{Pane: first.ID}, &verbs.Empty{}); err != nil {
		return err
	}
	lost, err := a.open("cat")
	if err != nil {
		return err
	}
	if err := syscall.Kill(lost.PID, syscall.SIGKILL); err != nil {
		return err
	}
	for {
		var list verbs.PaneListResult
		if err := call(verbs.PaneList, verbs.Empty{}, &list); err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Panes, func(p verbs.Pane) bool { return p.ID == lost.ID && p.State == verbs.PaneRunning }) {
			break
		}
		<-time.After(time.Millisecond)
	}
	_, err = a.open("cat") // the next spawnd finds it
	return err
}

// checkpoint writes two, of which the first is removed for the second, and forgets that.
func (a *armed) checkpoint() error {
	var written verbs.CheckpointResult
	for range 2 {
		if err := a.h.Socket().Call(a.Context(), verbs.RecoveryCheckpoint, verbs.Empty{}, &written); err != nil {
			return err
		}
	}
	return a.h.Socket().Call(a.Context(), verbs.RecoveryForget, verbs.CheckpointParams{Checkpoint: written.Checkpoint}, &verbs.Empty{})
}

// isGone tells the loss of spawnd from its refusal.
func isGone(err error) bool {
	refusal, ok := err.(*verbs.Error)
	return !ok || refusal.Code == verbs.CodeNoDaemon
}

func (a *armed) open(argv ...string) (verbs.Pane, error) {
	var r verbs.PaneResult
	err := a.h.Socket().Call(a.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: argv, Cols: 80, Rows: 24}, &r)
	return r.Pane, err
}

// converse attaches, types, sees it, and detaches.
func (a *armed) converse(p verbs.Pane) error {
	s, _, err := a.h.Socket().Stream(a.Context(), verbs.PaneStreamParams{Pane: p.ID, History: true, Take: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Input([]byte("word\r")); err != nil {
		return err
	}
	if err := untilOutput(s, "word"); err != nil {
		return err
	}
	if err := s.Resize(100, 30); err != nil {
		return err
	}
	if err := s.RequestReplay(1 << 20); err != nil {
		return err
	}
	return untilKind(s, wire.KindReplay)
}

func untilOutput(s *dial.Stream, text string) error {
	var seen []byte
	for !bytes.Contains(seen, []byte(text)) {
		kind, p, err := s.Recv()
		if err != nil {
			return err
		}
		if kind == wire.KindOutput || kind == wire.KindReplay {
			seen = append(seen, p...)
		}
	}
	return nil
}

func untilKind(s *dial.Stream, want wire.Kind) error {
	for {
		if kind, _, err := s.Recv(); err != nil || kind == want {
			return err
		}
	}
}
