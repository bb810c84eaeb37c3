// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	twinRounds   = 200
	exitConflict = 5
)

// Two supervisors that start at once: one serves, the other ends with its own code and has touched nothing.
func TestSupervisorsNeverShareAFolder(t *testing.T) {
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 0))
	h := newHost(t)
	first := h.serve()
	terminal := h.startLoads(1, seed)[0]
	first.kill()
	for round := range twinRounds {
		winner, loser := h.startTwins(random)
		if loser.cmd.ProcessState.ExitCode() != exitConflict {
			t.Fatalf("round %d: the second spawnd ended with %v\n%s", round, loser.cmd.ProcessState, loser.log)
		}
		if p := h.pane(terminal.pane.ID); p.PID != terminal.pane.PID {
			t.Fatalf("round %d: %+v", round, p)
		}
		winner.kill()
	}
	last := h.serve()
	// A loser against a spawnd that serves already must not even rewrite a file.
	before := h.snapshotFiles()
	if _, err := h.tryServe(); err == nil {
		t.Fatal("a second spawnd serves the same folder")
	}
	if after := h.snapshotFiles(); !bytes.Equal(before, after) {
		t.Errorf("the loser changed files:\n%s\nbecame\n%s", before, after)
	}
	h.settle(terminal)
	h.closeAll()
	last.stop()
	h.awaitNothingLeft()
}

// startTwins starts two and returns the one that serves and the one that has ended.
func (h *host) startTwins(random *rand.Rand) (winner, loser *daemon) {
	h.t.Helper()
	type started struct {
		d   *daemon
		err error
	}
	results := make(chan started, 2)
	offset := time.Duration(random.Int64N(int64(10 * time.Millisecond)))
	for i := range 2 {
		go func() {
			<-time.After(time.Duration(i) * offset)
			d, err := h.tryServe()
			results <- started{d, err}
		}()
	}
	for range 2 {
		if r := <-results; r.err == nil && winner == nil {
			winner = r.d
		} else if r.err != nil && loser == nil {
			loser = r.d
		}
	}
	if winner == nil || loser == nil {
		h.t.Fatalf("of two, winner %v and loser %v", winner, loser)
	}
	return winner, loser
}

// snapshotFiles lists what a loser could have touched: each file's name, mode, size, identity and time.
func (h *host) snapshotFiles() []byte {
	h.t.Helper()
	var list bytes.Buffer
	for _, root := range []string{"c", "s", "r", "w"} {
		err := filepath.Walk(filepath.Join(h.dir, root), func(path string, st os.FileInfo, err error) error {
			if err != nil || filepath.Ext(path) == ".log" {
				return err
			}
			list.WriteString(path + " " + st.Mode().String() + " " + st.ModTime().Format(time.RFC3339Nano) + "\n")
			return nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return list.Bytes()
}
