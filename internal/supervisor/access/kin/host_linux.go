// SPDX-License-Identifier: Apache-2.0

package kin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	procFileMax = 64 << 10 // bytes of stat, status, cgroup or fdinfo
	environMax  = 1 << 20  // bytes of an environment; a longer one counts as marked
	paneMark    = "SPAWN_PANE="
)

// Recognise finds out where the process is that made the connection. It does not wait for the peer, and
// any failure is Unsure.
//
// The kernel keeps with the socket which process connected, since Linux 6.5 as a handle that means no other.
// Before that it is a number. If its process ends before the handle is opened, and the number comes
// into use again in that moment, it is the wrong one.
func Recognise(conn *net.UnixConn, o Options) Place {
	pidfd, err := peerHandle(conn)
	if err != nil {
		return evidence{found: stranger}.decide()
	}
	defer unix.Close(pidfd)
	s := situation{host: proc{}, panes: o.Panes, self: o.Self, uid: os.Getuid(), scoped: o.Scoped, adopting: o.Adopting}
	if s.self == 0 {
		s.self = os.Getpid()
	}
	return s.recognise(pidfd)
}

func (s situation) recognise(pidfd int) Place {
	e := evidence{found: stranger}
	if pid, err := pidOf(pidfd); err == nil {
		e = s.gather(pid)
	}
	if !alive(pidfd) {
		e.found |= stranger // the number may have meant another process while we read
	}
	return e.decide()
}

func peerHandle(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	pidfd := -1
	var asked error
	err = raw.Control(func(fd uintptr) {
		if pidfd, asked = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); !errors.Is(asked, unix.ENOPROTOOPT) {
			return
		}
		var cred *unix.Ucred
		if cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); asked == nil {
			pidfd, asked = unix.PidfdOpen(int(cred.Pid), 0)
		}
	})
	if err = errors.Join(err, asked); err != nil {
		return -1, fmt.Errorf("find the peer's process: %w", err)
	}
	return pidfd, nil
}

// pidOf is the number of the handle's process in our namespace.
func pidOf(pidfd int) (int, error) {
	raw, err := readProc("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(field(raw, "Pid:"))
	if err != nil || pid <= 0 {
		return 0, errors.New("the peer has ended, or is in an outer namespace")
	}
	return pid, nil
}

// alive reports whether the process has not ended: a handle becomes readable then.
func alive(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n == 0
		}
	}
}

// proc is the host as /proc shows it.
type proc struct{}

func (proc) process(pid int) (process, error) {
	at := "/proc/" + strconv.Itoa(pid)
	before, err := readStat(at)
	if err != nil {
		return process{}, err
	}
	status, err := readProc(at + "/status")
	if err != nil {
		return process{}, err
	}
	uid, _, _ := strings.Cut(field(status, "Uid:"), "\t")
	if before.uid, err = strconv.Atoi(uid); err != nil {
		return process{}, fmt.Errorf("read %s/status: %w", at, err)
	}
	after, err := readStat(at)
	if err != nil || after.start != before.start {
		return process{}, fmt.Errorf("read process %d: it has ended", pid)
	}
	return before, nil
}

func readStat(at string) (process, error) {
	raw, err := readProc(at + "/stat")
	if err != nil {
		return process{}, err
	}
	p, err := parseStat(raw)
	if err != nil {
		return process{}, fmt.Errorf("read %s/stat: %w", at, err)
	}
	return p, nil
}

var errEnded = errors.New("it has ended")

// parseStat reads proc_pid_stat(5). The name is in brackets and may itself hold brackets, spaces and line ends.
func parseStat(raw []byte) (process, error) {
	open, shut := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || shut < open {
		return process{}, errors.New("there is no name")
	}
	rest := strings.Fields(string(raw[shut+1:])) // begins with field 3
	if len(rest) < 20 || rest[0] == "X" || rest[0] == "x" {
		return process{}, errEnded
	}
	p := process{name: string(raw[open+1 : shut])}
	var errs [4]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(string(raw[:open])))
	p.parent, errs[1] = strconv.Atoi(rest[1])
	p.session, errs[2] = strconv.Atoi(rest[3])
	p.start, errs[3] = strconv.ParseUint(rest[19], 10, 64)
	if p.session < 0 { // what the kernel shows, with no parent, of one that it is just forgetting
		return process{}, errEnded
	}
	return p, errors.Join(errs[:]...)
}

// group prefers the unified hierarchy, and takes systemd's own where that one is not in use. Everybody is in
// the root, so it says nothing.
func (proc) group(pid int) (string, error) {
	raw, err := readProc("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", err
	}
	unified, named := "", ""
	for line := range strings.Lines(string(raw)) {
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		kind, path, _ := strings.Cut(rest, ":")
		switch {
		case path == "/":
		case number == "0" && kind == "":
			unified = path
		case kind == "name=systemd":
			named = path
		}
	}
	return cmp.Or(unified, named), nil
}

func (proc) marked(pid int) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return true
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, environMax+1))
	if err != nil || len(raw) > environMax {
		return true
	}
	return bytes.HasPrefix(raw, []byte(paneMark)) || bytes.Contains(raw, []byte("\x00"+paneMark))
}

// field is what follows the name in the line that begins with it.
func field(raw []byte, name string) string {
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func readProc(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, procFileMax))
}
