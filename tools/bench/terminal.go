// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// readBytes is how much of a terminal is read at once, at most.
const readBytes = 64 << 10

// terminal is a program on a PTY of ours: the bare floor, or some program that shows another terminal. It is opened
// without the product's own code, so that what is gained there does not move the floor.
type terminal struct {
	master *os.File // blocking: the plainest way to read a terminal
	cmd    *exec.Cmd
	buf    [readBytes]byte
	stop   func() bool
}

// openTerminal starts a program on 80x24. When ctx ends it is killed, and reads fail.
func openTerminal(ctx context.Context, l *lab, argv ...string) (*terminal, error) {
	master, slave, err := openPTY(80, 24)
	if err != nil {
		return nil, fmt.Errorf("open PTY: %w", err)
	}
	defer slave.Close()
	t := &terminal{master: master, cmd: exec.Command(argv[0], argv[1:]...)}
	t.cmd.Dir, t.cmd.Env = l.dir, l.env
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, slave
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := t.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", argv[0], err), master.Close())
	}
	t.stop = context.AfterFunc(ctx, t.kill)
	return t, nil
}

func openPTY(cols, rows uint16) (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}

// kill ends the program and whatever has its terminal in the foreground; reads then fail, for nobody writes any more.
func (t *terminal) kill() { _ = t.cmd.Process.Kill() }

// skip reads n bytes and does nothing with them but count.
func (t *terminal) skip(n int) error {
	for n > 0 {
		got, err := t.master.Read(t.buf[:min(n, len(t.buf))])
		if err != nil {
			return fmt.Errorf("read terminal: %w", err)
		}
		n -= got
	}
	return nil
}

// next reads what there is, at least something.
func (t *terminal) next() ([]byte, error) {
	got, err := t.master.Read(t.buf[:])
	if err != nil {
		err = fmt.Errorf("read terminal: %w", err)
	}
	return t.buf[:got], err
}

// find reads until text has been shown.
func (t *terminal) find(text string) error {
	s := search{text: []byte(text)}
	for {
		got, err := t.next()
		if s.found(got) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w after %q", err, s.tail)
		}
	}
}

func (t *terminal) write(p []byte) error {
	_, err := t.master.Write(p)
	return err
}

// close ends the program and returns when it has been reaped.
func (t *terminal) close() {
	t.stop()
	t.kill()
	_ = t.cmd.Wait()
	_ = t.master.Close()
}

// search looks for a text in a stream that comes in pieces.
type search struct {
	text []byte
	tail []byte // of the stream so far, shorter than text
}

// found says whether the text ends in p. What was before it is forgotten.
func (s *search) found(p []byte) bool {
	keep := len(s.text) - 1
	s.tail = append(s.tail, p[:min(len(p), keep)]...)
	if bytes.Contains(s.tail, s.text) || bytes.Contains(p, s.text) {
		s.tail = s.tail[:0]
		return true
	}
	if len(p) >= keep {
		s.tail = append(s.tail[:0], p[len(p)-keep:]...)
	} else if over := len(s.tail) - keep; over > 0 {
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	return false
}
