// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/verbs"
)

// armedPrograms is the folder of programs that die where they are told to; a worker as the file beside it says.
var armedPrograms = sync.OnceValues(func() (string, error) {
	programs := filepath.Join(binaries, "armed")
	worker := filepath.Join(programs, "spawn-worker")
	return programs, errors.Join(os.Mkdir(programs, 0o700), compile(programs, "-tags", "failpoints"), os.Rename(worker, worker+".real"),
		os.WriteFile(worker, []byte("#!/bin/sh\nexec env $(cat \"$0.armed\" 2>/dev/null) \"$0.real\" \"$@\"\n"), 0o700))
})

// arm makes a host's programs those.
func (h *host) arm() (worker string) {
	h.Helper()
	var err error
	h.programs, err = armedPrograms()
	h.must(err)
	return filepath.Join(h.programs, "spawn-worker")
}

// serveUntil starts a spawnd that dies at a point: name, or name#n for the n-th time that it comes by.
func (h *host) serveUntil(point string) {
	h.Helper()
	h.env = append(h.env, "SPAWN_FAILPOINT="+point)
	h.serve()
	h.env = h.env[:len(h.env)-1]
}

// died waits for the death of spawnd.
func (h *host) died() {
	h.Helper()
	d := h.d
	err := h.ended()
	if d.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		h.Fatalf("it ended with %v and not at its point\n%s", err, d.log)
	}
}

// marking is a program that leaves a mark, each time that it runs.
func (h *host) marking(then string) []string {
	return []string{"sh", "-c", "echo x >>" + h.dir + "/marks; " + then}
}

// marked waits until the program has run, and returns how often it has.
func (h *host) marked() int {
	h.Helper()
	var text []byte
	h.await("the program has run", func() bool { text, _ = os.ReadFile(h.dir + "/marks"); return len(text) > 0 })
	return strings.Count(string(text), "x\n")
}

// archived is a host with one archive, p0, that spawnd has left.
func archived(t *testing.T) *host {
	t.Helper()
	h := newHost(t, withText)
	h.arm()
	c := one(planted, 1)
	c.Panes[0].Text = plain(now(), 3600, "still here")
	h.plant(c)
	h.serve()
	h.restore(planted)
	h.kill()
	return h
}

func (h *host) tryRelaunch(pane string, argv ...string) verbs.Code {
	return dialCode(h.socket().Call(context.Background(), verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: pane, Argv: argv, AckOrphans: true}, &verbs.PaneRelaunchResult{}))
}

// spawnd dies at each step of a relaunch, and whoever lost the answer asks again of the next one: the program runs once. Before
// it may have run the archive is what it was; afterwards its place is taken. A START that was written may never be read: the next
// spawnd may be there before, and then nothing was started.
func TestARelaunchHappensOnceWhateverSpawndDiesOf(t *testing.T) {
	const none = verbs.Code("")
	before, perhaps, began := []verbs.Code{none}, []verbs.Code{none, verbs.CodeNoPane}, []verbs.Code{verbs.CodeNoPane}
	for _, death := range []struct {
		at    string
		again []verbs.Code // what whoever asks again may be told
	}{
		{string(failpoint.RelaunchReserved), before},
		{string(failpoint.LaunchReserved), before},
		{string(failpoint.LaunchForked), before},
		{string(failpoint.LaunchHanded), before},
		{string(failpoint.LaunchReady), before},
		{string(failpoint.LaunchGreeted), before},
		{string(failpoint.TreeWritten) + "#2", before}, // the first is that of the start
		{string(failpoint.TreeRenamed) + "#2", before},
		{string(failpoint.RelaunchBegun), before},
		{string(failpoint.StartTorn), before},
		{string(failpoint.LaunchStarted), perhaps},
		{string(failpoint.RelaunchLaunched), perhaps},
		{string(failpoint.RelaunchReplaced), began},
		{string(failpoint.RelaunchKept), began},
		{string(failpoint.CallDone), began},
		{string(failpoint.AnswerTorn), began},
	} {
		for name, then := range map[string]string{"at once over": "exit 0", "goes on": "exec sleep 1000"} {
			t.Run(death.at+", "+name, func(t *testing.T) {
				h := archived(t)
				h.serveUntil(death.at)
				if code := h.tryRelaunch("p0", h.marking(then)...); code != verbs.CodeNoDaemon {
					t.Errorf("the asker is told %s", code)
				}
				h.died()
				h.serve()
				all := h.panes()
				if len(all) != 1 {
					t.Fatalf("the next spawnd has %+v", all)
				}
				if !slices.Contains(death.again, verbs.CodeNoPane) && (all[0].Recovery.TextState != "plain" || !strings.Contains(h.shows("p0"), "still here")) {
					t.Errorf("the archive has become %+v", all[0])
				}
				var again verbs.Code
				h.await("no worker is on its way out", func() bool {
					again = h.tryRelaunch("p0", h.marking(then)...)
					return again != verbs.CodeBusy
				})
				if !slices.Contains(death.again, again) {
					t.Errorf("asked again, it says %q, want one of %q", again, death.again)
				}
				all = h.panes()
				if len(all) != 1 || all[0].Recovery != (verbs.Archived{}) || !slices.Equal(all[0].Tags, []verbs.Tag{{Key: "owner", Value: "owner"}}) || all[0].Window != "w0" {
					t.Errorf("in the archive's place there is %+v", all)
				}
				if n := h.marked(); n != 1 {
					t.Errorf("it ran %d times", n)
				}
			})
		}
	}
}

// Nobody is left that knows whether the program ran: it is not run again.
func TestAProgramThatMayHaveRunIsNotRunAgain(t *testing.T) {
	for _, point := range []failpoint.Point{failpoint.LaunchStarted, failpoint.RelaunchLaunched, failpoint.RelaunchReplaced} {
		t.Run(string(point), func(t *testing.T) {
			h := archived(t)
			h.serveUntil(string(point))
			h.tryRelaunch("p0", h.marking("exec sleep 1000")...)
			h.died()
			h.marked()
			for _, pid := range h.processes() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			h.await("nobody is left", func() bool { return len(h.processes()) == 0 })
			h.serve()
			h.refused(verbs.CodeNoPane, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: h.marking(""), AckOrphans: true}, &verbs.PaneRelaunchResult{})
			if all := h.panes(); len(all) != 1 || all[0].State != verbs.PaneLost || all[0].Recovery != (verbs.Archived{}) || all[0].Window != "w0" {
				t.Errorf("in the archive's place there is %+v", all)
			}
			if n := h.marked(); n != 1 {
				t.Errorf("it ran %d times", n)
			}
		})
	}
}

// standsStill reports whether each thread of a process is stopped. On a busy host some go on for a while behind SIGSTOP.
func standsStill(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range threads {
		stat, _ := os.ReadFile(path)
		if i := strings.LastIndex(string(stat), ") "); i >= 0 && stat[i+2] != 'T' {
			return false
		}
	}
	return len(threads) > 0
}

// While the worker of a relaunch does not answer nobody knows what it did, so the archive can be looked at and not relaunched.
// When it goes on it takes the archive's place.
func TestARelaunchWaitsForAWorkerThatIsStopped(t *testing.T) {
	h := archived(t)
	h.serveUntil(string(failpoint.RelaunchLaunched))
	h.tryRelaunch("p0", h.marking("exec sleep 1000")...)
	h.died()
	h.marked()
	stopped := h.processes()
	for _, pid := range stopped {
		h.must(syscall.Kill(pid, syscall.SIGSTOP))
		h.await("it stands still", func() bool { return standsStill(pid) })
	}
	h.serve()
	s, _, err := h.socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: "p0", ReadOnly: true, History: true})
	h.must(err)
	defer s.Close()
	if text := h.replay(s); !strings.Contains(text, "still here") {
		t.Errorf("%q", text)
	}
	h.refused(verbs.CodeBusy, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: h.marking(""), AckOrphans: true}, &verbs.PaneRelaunchResult{})
	for _, pid := range stopped {
		h.must(syscall.Kill(pid, syscall.SIGCONT))
	}
	if got := h.farewell(s); got != verbs.DetachedRemoved {
		t.Errorf("the stream of the archive ends with %q", got)
	}
	h.await("the terminal is in its place", func() bool {
		all := h.panes()
		return len(all) == 1 && all[0].ID != "p0" && all[0].State == verbs.PaneRunning && all[0].Window == "w0"
	})
	if n := h.marked(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// strike makes the next workers stop or die at a point, until what it returns is called, or the test ends.
func (h *host) strike(environ ...string) (over func()) {
	h.Helper()
	armed := h.arm() + ".armed"
	h.must(os.WriteFile(armed, []byte(strings.Join(environ, " ")), 0o600))
	over = func() { _ = os.Remove(armed) }
	h.Cleanup(over)
	return over
}

// The worker of a relaunch dies before it is given its program: the relaunch fails in time, the archive is there still, in the
// file as well, and the next relaunch does what was asked.
func TestARelaunchOutlivesItsWorker(t *testing.T) {
	for _, point := range []failpoint.Point{failpoint.Began, failpoint.BeforeHello, failpoint.HelloTorn} {
		t.Run(string(point), func(t *testing.T) {
			h := archived(t)
			h.serve()
			before := h.panes()
			over := h.strike("SPAWN_FAILPOINT=" + string(point))
			for range 2 { // one that fails is in nobody's way
				h.refused(verbs.CodeSpawn, verbs.PaneRelaunch, verbs.PaneRelaunchParams{
					Pane: "p0", Argv: []string{"sleep", "1000"}, AckOrphans: true, Grants: []verbs.Scope{{Resource: "session:s0", Rights: []string{"spawn"}}},
				}, &verbs.PaneRelaunchResult{})
			}
			if !reflect.DeepEqual(h.panes(), before) || !strings.Contains(h.shows("p0"), "still here") || len(h.grants()) != 0 {
				t.Errorf("%+v, %+v", h.panes(), h.grants())
			}
			h.await("nothing but spawnd runs", func() bool { return len(h.processes()) == 1 })
			h.kill()
			h.serve()
			if after := h.panes(); !reflect.DeepEqual(after, before) {
				t.Errorf("the next spawnd has %+v", after)
			}
			over()
			h.relaunch("p0", "sleep", "1000")
		})
	}
}

// The worker dies behind START and says nothing of its program, which may have run: before it is started, when it has done its
// work, or somewhere between. Who asked is given the pane, which is lost, and nobody can have the program run once more.
func TestARelaunchWhoseWorkerIsGoneIsLost(t *testing.T) {
	for point, ran := range map[failpoint.Point]int{failpoint.StartRead: 0, failpoint.BeforeFork: 0, failpoint.AfterFork: 1} {
		t.Run(string(point), func(t *testing.T) {
			h := archived(t)
			h.serve()
			over := h.strike("SPAWN_FAILPOINT="+string(point), "SPAWN_FAILPOINT_STOP=1", "SPAWN_FAILPOINT_LOG="+h.dir+"/passed")
			params := verbs.PaneRelaunchParams{
				Pane: "p0", Argv: h.marking("exec sleep 1000"), AckOrphans: true, Grants: []verbs.Scope{{Resource: "session:s0", Rights: []string{"spawn"}}},
			}
			told := make(chan verbs.Code, 1)
			var got verbs.PaneRelaunchResult
			go func() { told <- dialCode(h.socket().Call(context.Background(), verbs.PaneRelaunch, params, &got)) }()
			h.await("the worker is at its point", func() bool {
				passed, _ := os.ReadFile(h.dir + "/passed")
				return strings.Contains(string(passed), string(point)+"\n")
			})
			if ran > 0 {
				h.marked()
			}
			for _, pid := range h.processes() {
				if pid != h.d.cmd.Process.Pid {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			if code := <-told; code != "" {
				t.Fatalf("the asker is told %s", code)
			}
			over()
			lost := func() {
				t.Helper()
				all := h.panes()
				if len(all) != 1 || all[0].ID != got.Pane || all[0].State != verbs.PaneLost || all[0].PID != 0 || all[0].Window != "w0" || all[0].Recovery != (verbs.Archived{}) {
					t.Errorf("in the archive's place there is %+v", all)
				}
				h.refused(verbs.CodeNoPane, verbs.PaneRelaunch, params, &verbs.PaneRelaunchResult{})
				h.refused(verbs.CodeNotArchive, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: got.Pane, Argv: params.Argv, AckOrphans: true}, &verbs.PaneRelaunchResult{})
			}
			lost()
			if got.PID != 0 || got.Window != "w0" || got.Principal != "pane:"+got.Pane {
				t.Errorf("the asker is told %+v", got)
			}
			h.kill()
			h.serve()
			lost()
			if text, _ := os.ReadFile(h.dir + "/marks"); strings.Count(string(text), "x\n") != ran {
				t.Errorf("it ran %d times, want %d", strings.Count(string(text), "x\n"), ran)
			}
		})
	}
}

// Whoever asks goes before there is an answer, and asks again.
func lostAnswers(t *testing.T) {
	h := newHost(t, on)
	h.plant(one(planted, 1))
	h.serve()
	h.unanswered(verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted})
	h.await("there is something", func() bool { return len(h.panes()) > 0 })
	h.refused(verbs.CodeNotEmpty, verbs.RecoveryRestore, verbs.CheckpointParams{Checkpoint: planted}, &verbs.RecoveryRestoreResult{})
	argv := h.marking("exit 0")
	h.unanswered(verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: argv, AckOrphans: true})
	h.marked()
	h.refused(verbs.CodeNoPane, verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: argv, AckOrphans: true}, &verbs.PaneRelaunchResult{})
	if n := h.marked(); n != 1 || len(h.panes()) != 1 {
		t.Errorf("it ran %d times; %+v", n, h.panes())
	}
}
