// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/fleet"
)

// launched is a worker of the test's own, the fleet that holds it, and whether it lives.
func launched(t *testing.T) (*fleet.Fleet, *fleet.Handle, func() bool) {
	t.Helper()
	dir, err := os.MkdirTemp("", "se") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if said, err := exec.Command("go", "build", "-o", dir+"/", "spawn/cmd/spawn-worker").CombinedOutput(); err != nil {
		t.Fatalf("build spawn-worker: %v: %s", err, said)
	}
	folder, err := endpoint.OpenFolder(dir + "/w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Close)
	f := fleet.New(fleet.Options{Folder: folder, WorkerPath: filepath.Join(dir, "spawn-worker"), Log: slog.New(slog.DiscardHandler)})
	id := endpoint.NewSessionID()
	h, err := f.Launch(t.Context(), id, fleet.Spec{Argv: []string{"/bin/sleep", "1000"}, Cwd: "/", Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Recv(); err != nil { // its first word: the program runs
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Terminate(context.Background()); h.Close() })
	return f, h, func() bool {
		held, err := folder.Locked(id)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
}

// A pane that is closed while the connection to its worker is being sought again must not be forgotten: the
// worker would go on without one.
func TestAPaneIsEndedWhileItsWorkerIsSoughtAgain(t *testing.T) {
	f, h, lives := launched(t)
	p := newPane("p0", h.ID(), f, slog.New(slog.DiscardHandler))
	p.onFacts = func(Facts) {}
	ended := make(chan error, 1)
	go func() { ended <- p.terminate(t.Context()) }()
	select {
	case err := <-ended:
		t.Fatalf("ended, error %v, and the worker lives: %v", err, lives())
	case <-time.After(50 * time.Millisecond): // a pane that forgets does so at once
	}
	go p.run(t.Context(), p.connect(h))
	if err := <-ended; err != nil || lives() {
		t.Errorf("error %v, lives: %v", err, lives())
	}
}

// A worker that was given up, but lives, is ended too.
func TestAPaneIsEndedWhoseWorkerWasGivenUp(t *testing.T) {
	f, h, lives := launched(t)
	h.Close()
	p := newPane("p0", h.ID(), f, slog.New(slog.DiscardHandler))
	p.mu.facts.State = StateLost
	close(p.done)
	if err := p.terminate(t.Context()); err != nil || lives() {
		t.Errorf("error %v, lives: %v", err, lives())
	}
}
