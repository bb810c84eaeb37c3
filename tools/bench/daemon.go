// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// daemon is one running spawnd.
type daemon struct {
	pid  int
	cmd  *exec.Cmd
	done chan struct{} // closed when it has been reaped
}

// serve builds what is missing and makes sure that a spawnd runs.
func (l *lab) serve(ctx context.Context) error {
	if l.daemon != nil {
		return nil
	}
	if err := l.build(ctx); err != nil {
		return err
	}
	return l.start(ctx)
}

// start starts a spawnd and waits for its address, which it prints when it has adopted what lives and serves.
func (l *lab) start(ctx context.Context) error {
	// A log to a file costs what a log costs, and is there to read when something fails.
	log, err := os.OpenFile(l.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start spawnd: %w", err)
	}
	defer log.Close()
	d := &daemon{cmd: exec.Command(l.program("spawnd"), "serve", "--listen", "127.0.0.1:0"), done: make(chan struct{})}
	d.cmd.Env, d.cmd.Stderr = append(slices.Clone(l.env), "GOTRACEBACK=all"), log // see crashTold
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start spawnd: %w", err)
	}
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start spawnd: %w", err)
	}
	d.pid = d.cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { _ = d.cmd.Process.Kill() })
	_, err = bufio.NewReader(out).ReadString('\n')
	go d.reap(out)
	if !stop() || err != nil {
		d.kill()
		text, _ := os.ReadFile(log.Name())
		return errors.Join(ctx.Err(), fmt.Errorf("start spawnd: it ended before it was ready\n%s", text))
	}
	l.daemon = d
	return nil
}

func (d *daemon) reap(out io.Reader) {
	defer close(d.done)
	_, _ = io.Copy(io.Discard, out)
	_ = d.cmd.Wait()
}

// kill is SIGKILL. It returns when the process is gone.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

// crashTold is a crash by SIGQUIT, which makes spawnd print its goroutines, and returns how many there were.
func (l *lab) crashTold() (int, error) {
	before, err := os.ReadFile(l.logPath())
	if err != nil {
		return 0, fmt.Errorf("count goroutines: %w", err)
	}
	_ = l.daemon.cmd.Process.Signal(syscall.SIGQUIT)
	<-l.daemon.done
	l.daemon = nil
	after, err := os.ReadFile(l.logPath())
	if err != nil {
		return 0, fmt.Errorf("count goroutines: %w", err)
	}
	return bytes.Count(after[len(before):], []byte("\ngoroutine ")), nil
}

func (l *lab) logPath() string { return l.dir + "/spawnd.log" }

// crash kills the running spawnd; its workers go on.
func (l *lab) crash() {
	l.daemon.kill()
	l.daemon = nil
}
