// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How spawnd ends when another serves its folders, and a command when spawnd does not answer.
const (
	ExitConflict    = 5
	ExitUnavailable = 6
)

// Daemon is one running spawnd.
type Daemon struct {
	Cmd *exec.Cmd
	URL string // of the page, with a pairing code
	Log *Log

	h    *Host
	done chan error // gets the result of Wait, once
}

// Serve starts spawnd and waits for its address.
func (h *Host) Serve(args ...string) *Daemon {
	h.T.Helper()
	d, err := h.TryServe(nil, args...)
	if err != nil {
		h.T.Fatal(err)
	}
	return d
}

// TryServe starts spawnd with more in its environment. An error means that it ended before it was ready; it is
// then reaped, and Cmd.ProcessState tells how.
func (h *Host) TryServe(environ []string, args ...string) (*Daemon, error) {
	d := &Daemon{h: h, Log: &Log{}, done: make(chan error, 1)}
	d.Cmd = exec.Command(filepath.Join(h.Programs, "spawnd"), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	d.Cmd.Env, d.Cmd.Stderr = append(h.Env[:len(h.Env):len(h.Env)], environ...), d.Log
	out, err := d.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.Cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, out)
		d.done <- d.Cmd.Wait()
	}()
	if err != nil {
		return d, fmt.Errorf("spawnd ended before it was ready: %w\n%s", d.Wait(), d.Log)
	}
	d.URL = strings.TrimSpace(line)
	return d, nil
}

// Wait waits for the end of spawnd and returns what became of it. It may be called again.
func (d *Daemon) Wait() error {
	err := <-d.done
	d.done <- err
	return err
}

// Kill is SIGKILL, and waits for the end.
func (d *Daemon) Kill() {
	_ = d.Cmd.Process.Kill()
	_ = d.Wait()
}

// Stop is SIGTERM, and waits for the orderly end, which must come.
func (d *Daemon) Stop() {
	d.h.T.Helper()
	_ = d.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.done:
		d.done <- err
		if err != nil {
			d.h.T.Errorf("spawnd after SIGTERM: %v\n%s", err, d.Log)
		}
	case <-time.After(Patience):
		_ = d.Cmd.Process.Signal(syscall.SIGQUIT)
		_ = d.Wait()
		d.h.T.Fatalf("spawnd does not end\n%s", d.Log)
	}
}

// Resident is how many bytes of memory spawnd has now.
func (d *Daemon) Resident() int64 {
	d.h.T.Helper()
	return Resident(d.h.T, d.Cmd.Process.Pid)
}

// Descriptors is how many files spawnd has open now.
func (d *Daemon) Descriptors() int {
	d.h.T.Helper()
	return Descriptors(d.h.T, d.Cmd.Process.Pid)
}

// Goroutines ends spawnd in the way that makes it print its goroutines, and counts them.
func (d *Daemon) Goroutines() int {
	d.h.T.Helper()
	_ = d.Cmd.Process.Signal(syscall.SIGQUIT)
	_ = d.Wait()
	n := strings.Count(d.Log.String(), "\ngoroutine ")
	if n == 0 {
		d.h.T.Fatalf("spawnd has told no goroutine\n%s", d.Log)
	}
	return n
}

// TellHeap is what makes spawnd log its heap at each collection, for its environment.
const TellHeap = "GODEBUG=gctrace=1"

// collection is a line of such a log; what it has kept is the last of the three numbers.
var collection = regexp.MustCompile(`(?m)^gc (\d+) @.*?\d+->\d+->(\d+) MB`)

// Heap is how many MiB the collections after the first so many have kept, at least, and how many there were in all. A spawnd
// that was started with TellHeap knows; one that was not, or has not collected since, fails the test.
func (d *Daemon) Heap(after int) (low, collections int) {
	d.h.T.Helper()
	low = math.MaxInt
	for _, m := range collection.FindAllStringSubmatch(d.Log.String(), -1) {
		if collections, _ = strconv.Atoi(m[1]); collections > after {
			kept, _ := strconv.Atoi(m[2])
			low = min(low, kept)
		}
	}
	if low == math.MaxInt {
		d.h.T.Fatalf("no collection after the first %d", after)
	}
	return low, collections
}

// Log keeps the end of a log for the report of a failure.
type Log struct {
	mu   sync.Mutex
	text []byte
}

// logKept holds the stacks of a spawnd with many terminals, which SIGQUIT makes it print.
const logKept = 1 << 20

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if over := len(l.text) - logKept; over > 0 {
		l.text = l.text[over:]
	}
	return len(p), nil
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
