// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
)

// twinOffset is how far apart two start at most; each is killed within twice that, if it is.
const twinOffset = 50 * time.Millisecond

// Two supervisors that start at once, or one of which starts while the other is killed or ends: at no time do two serve, one that
// may serve does, and one that may not ends with its own code and has touched nothing. The terminal notices nothing.
func TestSupervisorsNeverShareAFolder(t *testing.T) {
	c := rig.Begin(t, "T26 twins")
	h := rig.NewHost(t)
	first := h.Serve()
	terminal := h.StartLoad(c.Seed, rig.LinesPerSecond)
	first.Kill()
	served, conflicts := 0, 0
	for range rig.Size(200, 1000) {
		c.Runs++
		var serve int
		if c.Random.IntN(4) == 0 {
			serve = succeed(c, h)
		} else {
			serve = startTwins(c, h)
		}
		c.Faults++
		served, conflicts = served+serve, conflicts+2-serve
		if t.Failed() {
			t.Fatalf("in round %d", c.Runs)
		}
		if c.Runs%10 == 0 {
			now := h.Serve()
			if p := h.Pane(terminal.Pane.ID); p.PID != terminal.Pane.PID {
				t.Fatalf("round %d: %+v", c.Runs, p)
			}
			now.Kill()
		}
	}
	t.Logf("%d served, %d did not", served, conflicts)
	last := h.Serve()
	requireLosersTouchNothing(t, h)
	h.Settle(terminal)
	h.CloseAll()
	last.Stop()
	h.AwaitNothingLeft()
}

// requireLosersTouchNothing starts further ones beside a spawnd that serves. They must not even rewrite a file, whatever their own
// folders are: the workers' is one that both want.
func requireLosersTouchNothing(t *testing.T, h *rig.Host) {
	t.Helper()
	elsewhere := filepath.Join(h.Dir, "r2")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	before := snapshotFiles(h)
	for name, environ := range map[string][]string{
		"the same folders":         nil,
		"another runtime folder":   {"XDG_RUNTIME_DIR=" + elsewhere},
		"no runtime folder":        {"XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME=" + elsewhere},
		"another temporary folder": {"TMPDIR=" + elsewhere},
		"nothing in common":        {"XDG_RUNTIME_DIR=" + elsewhere, "TMPDIR=" + elsewhere, "HOME=" + elsewhere, "XDG_CONFIG_HOME=" + elsewhere},
	} {
		loser, err := h.TryServe(environ)
		if err == nil {
			loser.Kill()
			t.Errorf("%s: a second spawnd serves the same workers", name)
		} else if code := loser.Cmd.ProcessState.ExitCode(); code != rig.ExitConflict {
			t.Errorf("%s: the second spawnd ended with %d\n%s", name, code, loser.Log)
		}
	}
	if after := snapshotFiles(h); !bytes.Equal(before, after) {
		t.Errorf("the losers changed files:\n%s\nbecame\n%s", before, after)
	}
}

// twin is a spawnd that is not waited for.
type twin struct {
	cmd    *exec.Cmd
	log    rig.Log
	serves chan bool     // gets whether it came to that
	ended  chan struct{} // is closed when it has, and was reaped
	killed bool
}

// startTwin starts one after a while. It may be killed from the moment on at which it runs.
func startTwin(h *rig.Host, after time.Duration) *twin {
	h.T.Helper()
	<-time.After(after)
	w := &twin{serves: make(chan bool, 1), ended: make(chan struct{})}
	w.cmd = exec.Command(filepath.Join(h.Programs, "spawnd"), "serve", "--listen", "127.0.0.1:0")
	w.cmd.Env, w.cmd.Stderr = h.Env, &w.log
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		h.T.Fatal(err)
	}
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		w.serves <- err == nil
		_, _ = io.Copy(io.Discard, out)
		_ = w.cmd.Wait()
		close(w.ended)
	}()
	return w
}

func (w *twin) kill() {
	w.killed = true
	_ = w.cmd.Process.Kill()
	<-w.ended
}

// startTwins starts two, not quite at once, and kills the first, the second or none at any moment of that. It returns how many
// served; afterwards none runs.
func startTwins(c *rig.Class, h *rig.Host) (served int) {
	c.Helper()
	upTo := func(most time.Duration) time.Duration { return time.Duration(c.Random.Int64N(int64(most))) }
	doomed, offset, life := c.Random.IntN(3), upTo(twinOffset), upTo(2*twinOffset)
	var twins [2]*twin
	start := func(i int, after time.Duration) {
		if twins[i] = startTwin(h, after); i == doomed {
			time.AfterFunc(life, func() { _ = twins[i].cmd.Process.Kill() })
			twins[i].killed = true
		}
	}
	start(0, 0)
	start(1, offset)
	for _, w := range twins {
		if <-w.serves {
			served++
		} else {
			<-w.ended
			w.requireLost(c.T)
		}
	}
	living := 0
	for _, w := range twins {
		if w.killed {
			<-w.ended // at its time
			continue
		}
		select {
		case <-w.ended:
		default:
			living++
		}
		w.kill()
	}
	if doomed == 2 && (served != 1 || living != 1) {
		c.Errorf("of two that nobody killed %d served, and %d went on", served, living)
	}
	return served
}

// succeed starts one while another is told to end, which it must do well. It returns how many served.
func succeed(c *rig.Class, h *rig.Host) (served int) {
	c.Helper()
	first := startTwin(h, 0)
	if !<-first.serves {
		<-first.ended
		c.Errorf("the first does not serve: %v\n%s", first.cmd.ProcessState, &first.log)
		return 0
	}
	ahead := time.Duration(c.Random.Int64N(int64(2*twinOffset))) - twinOffset // of the second's start
	order := time.AfterFunc(max(0, -ahead), func() { _ = first.cmd.Process.Signal(syscall.SIGTERM) })
	second := startTwin(h, max(0, ahead))
	comes := <-second.serves
	if order.Stop() { // nobody has told the first to end, and a second time would kill it
		if comes {
			c.Error("a second serves beside a first that goes on")
		}
		_ = first.cmd.Process.Signal(syscall.SIGTERM)
	}
	served = 1
	if comes {
		served++
		second.kill()
	} else {
		<-second.ended
		second.requireLost(c.T)
	}
	<-first.ended
	if !first.cmd.ProcessState.Success() {
		c.Errorf("told to end, it ended with %v\n%s", first.cmd.ProcessState, &first.log)
	}
	return served
}

// requireLost wants one that did not come to serve to have been killed, or to say that another serves.
func (w *twin) requireLost(t *testing.T) {
	t.Helper()
	status := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if w.killed && status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == rig.ExitConflict {
		return
	}
	t.Errorf("one that did not serve ended with %v\n%s", w.cmd.ProcessState, &w.log)
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
