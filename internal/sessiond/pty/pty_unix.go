// SPDX-License-Identifier: Apache-2.0

//go:build unix

package pty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	creack "github.com/creack/pty"
	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/failpoint"
)

// Terminal is a program on a pseudo-terminal. All methods may be called at the same time.
type Terminal struct {
	master  *os.File
	raw     syscall.RawConn // of master
	reading reading
	pid     int // also its session and its process group
	// children tells that some child of this process changed state. SIGCHLD is used, rather than a blocking wait, so that
	// reaping is one step under mu and no thread sleeps in the kernel for each terminal.
	children chan os.Signal
	mu       struct {
		sync.Mutex
		// reaped is set in the same critical section in which the kernel forgets pid; after it pid must not be signalled.
		reaped bool
		status Status
		err    error // nil unless somebody else reaped the child, so that its status is unknown
	}
}

// Start opens a terminal and starts the program on it, with descriptors 0, 1, 2 and no other, and with every signal at its
// default. Errors name neither arguments nor environment. After Start, Wait must be called once.
func Start(o Options) (*Terminal, error) {
	path, err := resolve(o)
	if err != nil {
		return nil, err
	}
	master, slave, err := open(o.Cols, o.Rows)
	if err != nil {
		return nil, err
	}
	failpoint.Pass(failpoint.PtyOpen)
	defer slave.Close()
	raw, err := master.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open pseudo-terminal: %w", err), master.Close())
	}
	t := &Terminal{master: master, raw: raw, children: make(chan os.Signal, 1)}
	t.reading.gather = t.reading.readOn
	signal.Notify(t.children, syscall.SIGCHLD) // before the fork: an early death must not be missed
	if t.pid, err = fork(path, o, slave); err != nil {
		signal.Stop(t.children)
		return nil, errors.Join(err, master.Close())
	}
	return t, nil
}

// open returns both ends of a new terminal of the given size, the master pollable.
func open(cols, rows uint16) (master, slave *os.File, err error) {
	blocking, slave, err := creack.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open pseudo-terminal: %w", err)
	}
	defer blocking.Close()
	if master, err = pollable(blocking); err != nil {
		return nil, nil, errors.Join(err, slave.Close())
	}
	if err = prepare(slave, cols, rows); err != nil {
		return nil, nil, errors.Join(err, master.Close(), slave.Close())
	}
	return master, slave, nil
}

// pollable duplicates a master for the runtime's poller. On the library's own blocking descriptor Close would not wake
// a Read, and each Read and Write would hold a thread.
func pollable(blocking *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicate pseudo-terminal: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("make pseudo-terminal pollable: %w", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "pty"), nil
}

// prepare sets what the program must find: a blocking descriptor, the size, and erasing by whole UTF-8 characters.
func prepare(slave *os.File, cols, rows uint16) error {
	fd := int(slave.Fd())
	if err := unix.SetNonblock(fd, false); err != nil {
		return fmt.Errorf("make terminal blocking: %w", err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows}); err != nil {
		return fmt.Errorf("size terminal: %w", err)
	}
	tio, err := unix.IoctlGetTermios(fd, ioctlGetTermios)
	if err != nil {
		return fmt.Errorf("read terminal modes: %w", err)
	}
	tio.Iflag |= unix.IUTF8
	if err := unix.IoctlSetTermios(fd, ioctlSetTermios, tio); err != nil {
		return fmt.Errorf("set terminal modes: %w", err)
	}
	return nil
}

// fork starts path as leader of a new session whose controlling terminal is slave.
func fork(path string, o Options, slave *os.File) (int, error) {
	defer catchIgnored()() // ForkExec returns after execve
	sealDescriptors()
	fd := slave.Fd()
	failpoint.Pass(failpoint.BeforeFork)
	pid, err := syscall.ForkExec(path, o.Argv, &syscall.ProcAttr{
		Dir: folder(o), Env: o.Env, Files: []uintptr{fd, fd, fd},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
	})
	if err != nil {
		return 0, fmt.Errorf("start program: %w", err)
	}
	failpoint.Pass(failpoint.AfterFork)
	return pid, nil
}

// ignoring returns what ignores the signals. Of none, signal.Ignore would take all.
func ignoring(those []os.Signal) func() {
	return func() {
		if len(those) > 0 {
			signal.Ignore(those...)
		}
	}
}

// Pid is the process id, session id and process group id of the program. It means nothing after Wait has returned.
func (t *Terminal) Pid() int { return t.pid }

// Read waits until the program has written something and returns it, with more of a program that writes much, as far as p has
// room: the kernel hands out at most 4 KiB a time, and moves up more while those are read. It is one goroutine's at a
// time. io.EOF means that at this moment no process has the terminal open; while the program lives it may open it
// again, so a reader that saw Wait return may stop, and another should come back.
//
// hop out 1/6: the terminal's bytes enter here, and nothing before this line may change them.
func (t *Terminal) Read(p []byte) (int, error) {
	r := &t.reading
	r.into, r.n, r.err = p, 0, nil
	err := t.raw.Read(r.gather)
	r.into = nil
	if err != nil {
		return 0, err
	}
	return r.n, r.err
}

// readOnBytes is what the kernel must have handed out for another look: after less there is hardly more, and a key's echo does
// not wait for the look.
const readOnBytes = 2 << 10

// reading is one call of Read, kept so that a call allocates nothing.
type reading struct {
	into   []byte
	n      int
	err    error
	gather func(fd uintptr) (done bool)
}

// readOn is gather: it is called when the terminal may have something, and asks to be called again if that was nothing.
func (r *reading) readOn(fd uintptr) (done bool) {
	for r.n < len(r.into) {
		n, err := readNow(int(fd), r.into[r.n:])
		switch {
		case n >= readOnBytes:
			r.n += n
			continue
		case n > 0:
			r.n += n
		case err == unix.EINTR:
			continue
		case r.n > 0: // whatever else there is to say is said to the next call
		case err == unix.EAGAIN:
			return false
		case err == nil, err == unix.EIO: // Linux says EIO where others say end of file
			r.err = io.EOF
		default:
			r.err = fmt.Errorf("read terminal: %w", err)
		}
		return true
	}
	return true
}

// Write hands p to the terminal's input and waits while the program does not read. Close wakes it.
//
// hop in 6/6: the last step of a key, here or in TryWrite; from here on the line discipline has it.
func (t *Terminal) Write(p []byte) (int, error) { return t.master.Write(p) }

// TryWrite hands the terminal's input what it takes of p without waiting, and returns how much that was. An error is left for
// the next Write to meet. Nobody else may be in Write: it would wait for them.
func (t *Terminal) TryWrite(p []byte) (n int) {
	_ = t.raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), p)
		return true // once is enough
	})
	return max(n, 0)
}

// Resize sets the size in cells. The kernel sends SIGWINCH to the foreground group if it changed.
func (t *Terminal) Resize(cols, rows uint16) error {
	return t.control("size terminal", func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
}

// ForegroundGroup is the process group that the terminal's keys go to.
func (t *Terminal) ForegroundGroup() (pgid int, err error) {
	err = t.control("read foreground group", func(fd int) (err error) {
		pgid, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	if err == nil && pgid <= 0 {
		err = ErrGone
	}
	return pgid, err
}

// control runs f on the master without taking it away from the poller, as File.Fd would.
func (t *Terminal) control(verb string, f func(fd int) error) error {
	var inner error
	if err := t.raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	if inner != nil {
		return fmt.Errorf("%s: %w", verb, inner)
	}
	return nil
}

// SignalGroup signals the program's process group, or returns ErrGone. Jobs that the program put into groups of their own
// are not reached: the kernel hangs up the foreground one when the session's leader dies, a daemon survives.
func (t *Terminal) SignalGroup(sig syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.reaped {
		return ErrGone
	}
	if err := syscall.Kill(-t.pid, sig); errors.Is(err, syscall.ESRCH) {
		return ErrGone
	} else if err != nil {
		return fmt.Errorf("signal process group: %w", err)
	}
	return nil
}

// Wait blocks until the program has ended, reaps it and says how it ended. An error means that the status is unknown.
func (t *Terminal) Wait() (Status, error) {
	defer signal.Stop(t.children)
	for {
		if status, done, err := t.reap(); done {
			return status, err
		}
		<-t.children
	}
}

// reap asks without blocking whether the program has ended, and forgets its number in the same critical section.
func (t *Terminal) reap() (Status, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.reaped {
		return t.mu.status, true, t.mu.err
	}
	var ws syscall.WaitStatus
	pid, err := wait4(t.pid, &ws)
	switch {
	case err != nil:
		t.mu.err = fmt.Errorf("wait for program: %w", err)
		t.mu.reaped = true
	case pid != t.pid || !t.endedLocked(ws):
		return Status{}, false, nil
	}
	failpoint.Pass(failpoint.Reaped)
	return t.mu.status, true, t.mu.err
}

// endedLocked keeps the program's status, which the caller has just taken from the kernel, unless it says that the program
// goes on.
func (t *Terminal) endedLocked(ws syscall.WaitStatus) bool {
	switch {
	case ws.Signaled():
		t.mu.status = Status{Signal: unix.SignalName(ws.Signal())}
	case ws.Exited():
		t.mu.status = Status{Code: ws.ExitStatus()}
	default:
		return false
	}
	t.mu.reaped = true
	return true
}

// ReapOrphans reaps what AdoptOrphans brings, until stop is closed. It runs beside Wait, as long as nothing else of this
// process starts any. It may find the program itself among them; then it is Wait that returns how that ended.
func (t *Terminal) ReapOrphans(stop <-chan struct{}) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	for {
		for t.reapAny() {
		}
		select {
		case <-children:
		case <-stop:
			return
		}
	}
}

// reapAny reaps one process, if one has ended. A number is the program's only until it is reaped, so whose it is gets decided
// in the critical section in which the kernel forgets it.
func (t *Terminal) reapAny() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ws syscall.WaitStatus
	pid, err := wait4(-1, &ws)
	if err != nil || pid <= 0 {
		return false
	}
	if pid == t.pid && !t.mu.reaped {
		t.endedLocked(ws)
		failpoint.Pass(failpoint.Reaped)
		select {
		case t.children <- syscall.SIGCHLD: // its own signal may have come before
		default: // one waits there already
		}
	}
	return true
}

// wait4 is a non-blocking wait for one child, or with -1 for any, that no signal interrupts.
func wait4(pid int, ws *syscall.WaitStatus) (int, error) {
	for {
		got, err := syscall.Wait4(pid, ws, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return got, err
		}
	}
}

// Close gives the terminal up: pending Read and Write calls return, and the kernel hangs up what still runs on it.
func (t *Terminal) Close() error { return t.master.Close() }
