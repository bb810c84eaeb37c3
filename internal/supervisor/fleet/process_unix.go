// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/descriptors"
)

// process is a worker that this process forked. It is asked nothing once it has greeted us.
type process struct {
	cmd    *exec.Cmd
	report *os.File      // the worker's standard error until it is ready
	ended  chan struct{} // closed when it was reaped
}

// fork reserves the terminal and starts a worker that inherits the reservation, and nothing else: its
// standard input and output are the null device, its standard error a pipe on which it says why it failed.
// The reservation is the worker's alone when fork returns, but for children of ours that are just being forked, so it ends with
// the worker, or a moment later.
func (f *Fleet) fork(id endpoint.SessionID, log LogBounds) (*process, error) {
	reservation, err := f.folder.Reserve(id)
	if err != nil {
		return nil, err
	}
	failpoint.Pass(failpoint.LaunchReserved)
	if descriptors.Among(reservation.File(), descriptors.Kept) {
		return nil, errors.Join(ErrDescriptors, reservation.Retire())
	}
	report, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make pipe: %w", err), reservation.Retire())
	}
	defer theirs.Close()
	keepToOurselves()
	p := &process{f.command(id, log, reservation.File(), theirs), report, make(chan struct{})}
	end := watchEnd(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start worker: %w", err), report.Close(), reservation.Retire())
	}
	failpoint.Pass(failpoint.LaunchForked)
	f.children.started()
	go p.reapLoop(&f.children, end)
	if err := reservation.Release(); err != nil { // the child has its copy: Start returns after exec
		ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
		defer cancel()
		return nil, errors.Join(err, report.Close(), p.kill(ctx))
	}
	failpoint.Pass(failpoint.LaunchHanded)
	return p, nil
}

func (f *Fleet) command(id endpoint.SessionID, log LogBounds, lock, report *os.File) *exec.Cmd {
	args := []string{"--session-id", string(id), "--worker-dir", f.folder.Path()}
	if log.Max != 0 {
		args = append(args, "--max-log-bytes", strconv.Itoa(log.Max))
	}
	if log.Segment != 0 {
		args = append(args, "--segment-bytes", strconv.Itoa(log.Segment))
	}
	cmd := exec.Command(f.workerPath, args...)
	cmd.Stderr = report
	cmd.ExtraFiles = []*os.File{lock} // descriptor 3
	cmd.Env = withoutPreemption(runtimeOnly(os.Environ()))
	cmd.Dir = "/" // hold no folder busy for as long as a terminal lives
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// runtimeOnly keeps what tunes a Go program. The shell's environment comes with START; anything else in
// ours, tokens above all, would stay readable in the worker's for its whole life.
func runtimeOnly(environ []string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains([]string{"GODEBUG", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GORACE"}, name)
	})
	return append(make([]string, 0, len(kept)), kept...) // never nil, which would mean ours
}

// withoutPreemption keeps the runtime of a worker from interrupting itself by signals. A signal has the kernel save all registers to
// a stack that nobody wipes, half a key among them when it comes while a record is sealed, or text that is being copied. The
// collector waits for the next call then, which in a worker is never far: it works on some KiB at a time. No //go:debug line
// can say this.
func withoutPreemption(environ []string) []string {
	for i, entry := range environ {
		if strings.HasPrefix(entry, "GODEBUG=") {
			environ[i] = entry + "," + noPreemption
			return environ
		}
	}
	return append(environ, "GODEBUG="+noPreemption)
}

// noPreemption comes last among the runtime's settings, where it counts.
const noPreemption = "asyncpreemptoff=1"

// reapLoop lives as long as the worker, however long that is, because only a parent can reap. When spawnd
// ends before, the worker is reaped by whoever inherits it.
func (p *process) reapLoop(family *children, awaitEnd func()) {
	defer close(p.ended)
	defer family.reaped()
	awaitEnd()
	p.cmd.Wait() // the status is the worker's own; its program's comes as EXIT
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// awaitReady returns when the worker listens: it then closes its end of the pipe without a word.
func (p *process) awaitReady(ctx context.Context) error {
	defer p.report.Close()
	stop := context.AfterFunc(ctx, func() { p.report.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	words, err := io.ReadAll(io.LimitReader(p.report, reportMax))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("await worker: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("await worker: %w", err)
	case len(words) > 0:
		return fmt.Errorf("await worker: it says %q", strings.TrimSpace(string(words)))
	}
	return nil
}

// kill ends the worker and waits until it was reaped. Process.Kill knows a reaped process and signals no
// other.
func (p *process) kill(ctx context.Context) error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill worker: %w", err)
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("await worker's end: %w", context.Cause(ctx))
	}
}
