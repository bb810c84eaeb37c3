// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
)

// nested is a program with children and grandchildren that do nothing but live; each says its process id in a file.
const nested = `cd %[1]s; leaf() { sh -c 'echo $$ > leaf-'$1'; exec sleep 1000'; }
leaf 1 & (leaf 2 & leaf 3) & sh -c 'sh -c "echo \$\$ > leaf-4; exec sleep 1000" & wait' &
setsid sh -c 'echo $$ > leaf-5; exec sleep 1000' & echo $$ > leaf-0; echo began; wait`

const leaves = 6

// Every process of a session has its terminal as descriptors 0, 1 and 2 and no other, and neither its environment, its
// arguments nor its folder tells how to reach a worker: the first child, those below it, and all of several sessions that
// start at the same time.
func TestEveryProcessOfASessionHasOnlyItsTerminal(t *testing.T) {
	const sessions = 6
	workers := make([]*process, sessions)
	peers := make([]*peer, sessions)
	folders := make([]string, sessions)
	secrets := []string{"of-the-supervisor"}
	for i := range sessions {
		workers[i], folders[i] = launchProcess(t), t.TempDir()
		peers[i] = dial(t, workers[i].folder, workers[i].id)
		secrets = append(secrets, workers[i].id.String(), workers[i].folder.Path(), peers[i].hello.InstanceID)
		if os.Geteuid() == 0 { // who else cannot read it, nor could a program of theirs
			key := keyOf(t, workers[i].cmd.Process.Pid)
			secrets = append(secrets, string(key), hex.EncodeToString(key))
		}
	}
	for i, p := range peers { // no waiting in between
		p.startScript(nested, folders[i])
	}
	terminals := map[string]bool{}
	for i := range sessions {
		peers[i].untilOutput("began")
		var terminal string
		for leaf := range leaves {
			pid := awaitPID(t, filepath.Join(folders[i], fmt.Sprint("leaf-", leaf)))
			terminal = requireOnlyTerminal(t, pid)
			requireNothingOf(t, pid, secrets)
		}
		terminals[terminal] = true
	}
	if len(terminals) != sessions {
		t.Errorf("%d sessions have the terminals %v", sessions, terminals)
	}
}

// awaitPID waits until a shell has written its id and become what it executes next: sleep, or for leaf-0 itself.
func awaitPID(t *testing.T, path string) int {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		text, _ := os.ReadFile(path)
		pid, err := strconv.Atoi(strings.TrimSuffix(string(text), "\n"))
		if err != nil || nameOf(pid) != "sleep" && !strings.HasSuffix(path, "leaf-0") {
			continue
		}
		if environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); len(environ) > 0 { // execve is over
			return pid
		}
	}
	t.Fatalf("nobody wrote %s", path)
	return 0
}

// requireOnlyTerminal wants one terminal at descriptors 0, 1 and 2 of a process, nothing else, and returns its path. A shell
// puts /dev/null at 0 of its background jobs. What a program has open only while it begins is given the time to go.
func requireOnlyTerminal(t *testing.T, pid int) string {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		held := descriptors(t, pid)
		terminal := held["1"]
		whole := len(held) == 3 && held["2"] == terminal && (held["0"] == terminal || held["0"] == "/dev/null")
		if whole && strings.HasPrefix(terminal, "/dev/pts/") {
			return terminal
		}
		if time.Now().After(deadline) {
			t.Errorf("process %d (%s) has the descriptors %v", pid, nameOf(pid), held)
			return ""
		}
	}
}

func descriptors(t *testing.T, pid int) map[string]string {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, e := range entries {
		if held[e.Name()], err = os.Readlink(filepath.Join(folder, e.Name())); err != nil {
			held[e.Name()] = "closed meanwhile"
		}
	}
	return held
}

func nameOf(pid int) string {
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(comm))
}

// requireNothingOf looks for secrets in what any process of the same user can read of a process.
func requireNothingOf(t *testing.T, pid int, secrets []string) {
	t.Helper()
	var seen strings.Builder
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(text)
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		t.Fatal(err)
	}
	seen.WriteString(cwd)
	for _, secret := range secrets {
		if strings.Contains(seen.String(), secret) {
			t.Errorf("process %d (%s) can see %q", pid, nameOf(pid), secret)
		}
	}
	if !strings.Contains(seen.String(), "TERM=xterm-256color") {
		t.Errorf("process %d was looked at in vain: %q", pid, seen.String())
	}
}

// TERM and KILL reach the program's process group: whatever stayed in it dies. Who left it for a group or session of its own
// survives, with a dead terminal; keeping such a one is the wish of whoever started it. Neither keeps the session alive.
func TestWhoLeavesTheProcessGroupIsLeftAndHangsNobody(t *testing.T) {
	for _, s := range []endpoint.Signal{endpoint.SignalTERM, endpoint.SignalKILL} {
		p := launchProcess(t)
		peer := dial(t, p.folder, p.id)
		folder := t.TempDir()
		peer.startScript(`cd %s; leaf() { sh -c 'trap "" HUP; echo $$ > leaf-'$1'; exec sleep 1000'; }
			(leaf stayed &) & bash -c 'set -m; sh -c "trap \"\" HUP; echo \$\$ > leaf-grouped; exec sleep 1000" & disown' & setsid sh -c 'setsid sh -c "trap \"\" HUP; echo \$\$ > leaf-daemon; exec sleep 1000" &' & echo began; wait; sleep 1000`, folder)
		pid := map[string]int{}
		for _, leaf := range []string{"stayed", "grouped", "daemon"} {
			pid[leaf] = awaitPID(t, filepath.Join(folder, "leaf-"+leaf))
			t.Cleanup(func() { syscall.Kill(pid[leaf], syscall.SIGKILL) })
		}
		instance, err := endpoint.ParseInstanceID(peer.hello.InstanceID)
		if err != nil {
			t.Fatal(err)
		}
		if ack, err := p.folder.Signal(t.Context(), p.id, instance, s); ack != endpoint.AckDelivered || err != nil {
			t.Fatalf("%v: %v, %v", s, ack, err)
		}
		if e := peer.exit(); e.Signal != "SIG"+s.String() {
			t.Errorf("%v: EXIT %+v", s, e)
		}
		awaitDead(t, pid["stayed"])
		for _, leaf := range []string{"grouped", "daemon"} {
			if isDead(pid[leaf]) {
				t.Errorf("%v: %s is dead: the limit is not where the documentation says", s, leaf)
			}
			if terminal, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid[leaf]), os.O_WRONLY|syscall.O_NOCTTY, 0); err == nil {
				t.Errorf("%v: the terminal of %s lives on", s, leaf)
				terminal.Close()
			}
		}
		if ack, err := p.folder.Signal(t.Context(), p.id, instance, endpoint.SignalKILL); err != nil || ack != endpoint.AckGone {
			t.Errorf("%v: KILL after the end: %v, %v", s, ack, err)
		}
		p.await()
		requireEmpty(t, p.folder)
	}
}

// isDead also holds for a zombie, which nobody may have reaped yet.
func isDead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), " ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

func awaitDead(t testing.TB, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if isDead(pid) {
			return
		}
	}
	t.Fatalf("process %d (%s) lives on", pid, nameOf(pid))
}
