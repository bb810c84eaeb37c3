// SPDX-License-Identifier: Apache-2.0

package foreground

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Leader is the leader of a process group, whose end somebody waits for. It costs nothing until then.
type Leader struct {
	file *os.File // the process, whatever becomes of its number
	gone chan struct{}
	done chan struct{}
}

// Watch waits for the end of the leader of process group pgid. It fails when that is gone, as it is in a pipeline whose
// first command has ended, and on kernels that have no such thing (before 5.3).
func Watch(pgid int) (*Leader, error) {
	fd, err := unix.PidfdOpen(pgid, 0)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", pgid, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that the runtime waits for it together with all else
		_ = unix.Close(fd)
		return nil, fmt.Errorf("watch process %d: %w", pgid, err)
	}
	l := &Leader{file: os.NewFile(uintptr(fd), "leader"), gone: make(chan struct{}), done: make(chan struct{})}
	conn, err := l.file.SyscallConn()
	if err != nil {
		_ = l.file.Close()
		return nil, fmt.Errorf("watch process %d: %w", pgid, err)
	}
	go func() {
		defer close(l.done)
		if conn.Read(hasEnded) == nil {
			close(l.gone)
		}
	}()
	return l, nil
}

// hasEnded reports whether the process has: then its descriptor is readable.
func hasEnded(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0 && err == nil
}

// Gone is closed when the leader has ended, reaped or not.
func (l *Leader) Gone() <-chan struct{} { return l.gone }

// Close ends the watch.
func (l *Leader) Close() {
	_ = l.file.Close()
	<-l.done
}
