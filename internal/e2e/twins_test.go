// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
)

const twinRounds = 200

// Two supervisors that start at once: one serves, the other ends with its own code and has touched nothing.
func TestSupervisorsNeverShareAFolder(t *testing.T) {
	seed := rig.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	h := rig.NewHost(t)
	first := h.Serve()
	terminal := h.StartLoad(seed, rig.LinesPerSecond)
	first.Kill()
	for round := range twinRounds {
		winner, loser := startTwins(h, random)
		if loser.Cmd.ProcessState.ExitCode() != rig.ExitConflict {
			t.Fatalf("round %d: the second spawnd ended with %v\n%s", round, loser.Cmd.ProcessState, loser.Log)
		}
		if p := h.Pane(terminal.Pane.ID); p.PID != terminal.Pane.PID {
			t.Fatalf("round %d: %+v", round, p)
		}
		winner.Kill()
	}
	last := h.Serve()
	// A loser against a spawnd that serves already must not even rewrite a file.
	before := snapshotFiles(h)
	if _, err := h.TryServe(nil); err == nil {
		t.Fatal("a second spawnd serves the same folder")
	}
	if after := snapshotFiles(h); !bytes.Equal(before, after) {
		t.Errorf("the loser changed files:\n%s\nbecame\n%s", before, after)
	}
	h.Settle(terminal)
	h.CloseAll()
	last.Stop()
	h.AwaitNothingLeft()
}

// startTwins starts two and returns the one that serves and the one that has ended.
func startTwins(h *rig.Host, random *rand.Rand) (winner, loser *rig.Daemon) {
	h.T.Helper()
	type started struct {
		d   *rig.Daemon
		err error
	}
	results := make(chan started, 2)
	offset := time.Duration(random.Int64N(int64(10 * time.Millisecond)))
	for i := range 2 {
		go func() {
			<-time.After(time.Duration(i) * offset)
			d, err := h.TryServe(nil)
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
		h.T.Fatalf("of two, winner %v and loser %v", winner, loser)
	}
	return winner, loser
}

// snapshotFiles lists what a loser could have touched: each file's name, mode, size, identity and time.
func snapshotFiles(h *rig.Host) []byte {
	h.T.Helper()
	var list bytes.Buffer
	for _, root := range []string{"c", "s", "r", "w"} {
		err := filepath.Walk(filepath.Join(h.Dir, root), func(path string, st os.FileInfo, err error) error {
			if err != nil || filepath.Ext(path) == ".log" {
				return err
			}
			list.WriteString(path + " " + st.Mode().String() + " " + st.ModTime().Format(time.RFC3339Nano) + "\n")
			return nil
		})
		if err != nil {
			h.T.Fatal(err)
		}
	}
	return list.Bytes()
}
