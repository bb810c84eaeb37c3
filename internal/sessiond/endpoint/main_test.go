// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests' own binary plays other processes: the environment names the role.
const roleVariable = "ENDPOINT_TEST_ROLE"

const nobody = 65534

func TestMain(m *testing.M) {
	roles := map[string]func() error{"worker": roleWorker, "dial": roleDial, "datagram": roleDatagram, "reclaim": roleReclaim}
	if role, ok := roles[os.Getenv(roleVariable)]; ok {
		if err := role(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newPath returns a path for a worker folder that is short enough for sockets.
func newPath(t testing.TB) string {
	t.Helper()
	above, err := os.MkdirTemp("", "ep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(above) })
	return filepath.Join(above, "w")
}

func openFolder(t testing.TB, path string) *Folder {
	t.Helper()
	f, err := OpenFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func reserve(t testing.TB, f *Folder, id SessionID) *Reservation {
	t.Helper()
	r, err := f.Reserve(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Release() })
	return r
}

func listen(t testing.TB, r *Reservation) *Endpoints {
	t.Helper()
	e, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func entries(t testing.TB, path string) []string {
	t.Helper()
	list, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// other is a running process in one of the roles.
type other struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

func startRole(t testing.TB, role string, uid uint32, files []*os.File, args ...string) *other {
	t.Helper()
	// Through the link, a user who may not look into the build folder can run it too.
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = []string{roleVariable + "=" + role}
	cmd.ExtraFiles = files
	cmd.Stderr = os.Stderr
	if uid != uint32(os.Geteuid()) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &other{cmd, stdin, bufio.NewReader(stdout)}
}

func (o *other) expect(t testing.TB, want string) {
	t.Helper()
	line, err := o.stdout.ReadString('\n')
	if strings.TrimSpace(line) != want {
		t.Fatalf("the other process says %q (%v), want %q", line, err, want)
	}
}

// roleWorker inherits descriptor 3, listens, and ends cleanly at the end of its input.
func roleWorker() error {
	// As the real worker does; it changes what /proc lets a process do with itself.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	folder, err := OpenFolder(os.Args[1])
	if err != nil {
		return err
	}
	r, err := Inherit(folder, SessionID(os.Args[2]), os.NewFile(3, "reservation"))
	if err != nil {
		return err
	}
	e, err := r.Listen()
	if err != nil {
		return err
	}
	flags, err := unix.FcntlInt(3, unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		return fmt.Errorf("descriptor 3 stays open on exec (%v)", err)
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	if err := errors.Join(e.Close(), r.Retire()); err != nil {
		return err
	}
	fmt.Println("retired")
	return nil
}

// roleDial connects to a path and says what comes back.
func roleDial() error {
	conn, err := net.Dial("unix", os.Args[1])
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte("first byte")); err != nil {
		fmt.Println("closed")
		return nil
	}
	answer, _ := io.ReadAll(conn)
	if len(answer) == 0 {
		fmt.Println("closed")
		return nil
	}
	return fmt.Errorf("got an answer of %d bytes", len(answer))
}

// roleDatagram sends what it reads from a file to a socket and says whether an answer comes.
func roleDatagram() error {
	request, err := io.ReadAll(os.NewFile(3, "request"))
	if err != nil {
		return err
	}
	own := filepath.Join(os.Args[2], "01234567")
	conn, err := net.DialUnix("unixgram", &net.UnixAddr{Name: own, Net: "unixgram"}, &net.UnixAddr{Name: os.Args[1], Net: "unixgram"})
	if err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	fmt.Println("sent")
	conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 8)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("got an answer of %d bytes (%v)", n, err)
	}
	fmt.Println("no answer")
	return nil
}
