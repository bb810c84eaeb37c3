// SPDX-License-Identifier: Apache-2.0

package systemd_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/unmet"
)

const (
	bootMax  = 90 * time.Second // on a host that is busy with other things
	stepMax  = 30 * time.Second
	pollWait = 50 * time.Millisecond
)

// booted is a systemd of its own, on a throw-away copy of this host; see boot.sh.
type booted struct {
	t      *testing.T
	pid    int // of the systemd, as seen from here
	folder string
	died   chan struct{}
}

// boot skips the test where no systemd can be booted, and says why.
func boot(t *testing.T) *booted {
	t.Helper()
	unmet.Root(t, "make the namespaces to boot a systemd in")
	if testing.Short() {
		t.Skip("boots a systemd")
	}
	b := &booted{t: t, folder: t.TempDir(), died: make(chan struct{})}
	var said bytes.Buffer
	cmd := exec.Command("./boot.sh", b.folder)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.died)
		cmd.Wait()
	}()
	t.Cleanup(func() { b.end(cmd.Process) })
	if !b.await(bootMax, func() bool { return b.findPID(cmd.Process.Pid) && b.isUp() }) {
		unmet.Skip(t, "cannot boot a systemd here: %s", said.String())
	}
	return b
}

// end kills everything inside and removes the control groups.
func (b *booted) end(p *os.Process) {
	path, err := os.ReadFile(filepath.Join(b.folder, "cgroup"))
	group := strings.TrimSpace(string(path))
	if err != nil || !strings.Contains(group, "spawn-boot-") {
		p.Kill()
		<-b.died
		return
	}
	os.WriteFile(filepath.Join(group, "cgroup.kill"), []byte("1"), 0)
	<-b.died
	poll(stepMax, nil, func() bool {
		events, err := os.ReadFile(filepath.Join(group, "cgroup.events"))
		return err != nil || bytes.Contains(events, []byte("populated 0"))
	})
	var groups []string
	filepath.WalkDir(group, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			groups = append(groups, path)
		}
		return nil
	})
	slices.Reverse(groups) // the deepest first
	for _, g := range groups {
		if err := os.Remove(g); err != nil {
			b.t.Error(err)
		}
	}
}

// await looks until the condition holds, and reports false when the time is over or the systemd has ended.
func (b *booted) await(most time.Duration, holds func() bool) bool { return poll(most, b.died, holds) }

func poll(most time.Duration, stop <-chan struct{}, holds func() bool) bool {
	over := time.NewTimer(most)
	defer over.Stop()
	look := time.NewTicker(pollWait)
	defer look.Stop()
	for !holds() {
		select {
		case <-over.C:
			return false
		case <-stop:
			return holds()
		case <-look.C:
		}
	}
	return true
}

// findPID follows `unshare` to its only child.
func (b *booted) findPID(unshare int) bool {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", unshare, unshare))
	if err != nil {
		return false
	}
	b.pid, err = strconv.Atoi(strings.TrimSpace(string(children)))
	return err == nil
}

func (b *booted) isUp() bool {
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", b.pid)); err != nil || string(comm) != "systemd\n" {
		return false
	}
	state, _ := b.command("systemctl", "is-system-running").Output()
	return slices.Contains([]string{"running", "degraded"}, strings.TrimSpace(string(state)))
}

// inside is a path of the copy, as seen from here.
func (b *booted) inside(path string) string { return fmt.Sprintf("/proc/%d/root%s", b.pid, path) }

func (b *booted) command(args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--target", strconv.Itoa(b.pid), "--all", "--"}, args...)...)
}

func (b *booted) run(args ...string) string {
	b.t.Helper()
	var said bytes.Buffer
	cmd := b.command(args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		journal, _ := b.command("journalctl", "--no-pager", "-n", "80").CombinedOutput()
		b.t.Fatalf("%q: %v: %s%s\n%s", args, err, out, said.String(), journal)
	}
	return strings.TrimSpace(string(out))
}

func (b *booted) write(path, text string, mode os.FileMode) {
	b.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(b.inside(path)), 0o755), os.WriteFile(b.inside(path), []byte(text), mode)); err != nil {
		b.t.Fatal(err)
	}
}

// process is a process inside, by a number that only means something inside, and its start, which tells
// it from another that has the number later.
type process struct {
	pid   int
	start string
}

// processes are those inside whose command line holds the text.
func (b *booted) processes(text string) []process {
	b.t.Helper()
	lines, err := filepath.Glob(b.inside("/proc/[0-9]*/cmdline"))
	if err != nil {
		b.t.Fatal(err)
	}
	var found []process
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), text) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		pid, atoi := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && atoi == nil && len(fields) > 19 {
			found = append(found, process{pid, fields[19]})
		}
	}
	return found
}

// cgroup is the control group of a process inside, as the kernel shows it there.
func (b *booted) cgroup(p process) string {
	b.t.Helper()
	return b.run("sed", "-n", "s/^0:://p", fmt.Sprintf("/proc/%d/cgroup", p.pid))
}
