// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

// §9: what a worker sends waits in the kernel, where it holds back the worker, and here no more than the bound: nothing
// before Recv asks, and then what is read ahead.
func TestOutputWaitsInTheKernel(t *testing.T) {
	const chunks = 100 // together more than the bound, and less than the kernel takes
	ours, theirs := bothEnds(t)
	house := newHouse(t)
	h := house.fleet("good").drive(endpoint.NewSessionID(), &contact{conn: ours, in: wire.NewReader(ours, wire.FromWorker)})
	defer h.Close()
	var sent []byte
	for range chunks {
		var err error
		if sent, err = wire.AppendOutput(sent, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := theirs.Write(sent); err != nil {
		t.Fatal(err)
	}
	for asked := range chunks {
		waits := len(sent) - pending(t, ours) - asked*len(sent)/chunks
		if waits > outputBytesMax || asked == 0 && waits > 0 {
			t.Fatalf("after %d calls of Recv %d bytes wait", asked, waits)
		}
		next(t, h, wire.KindOutput)
	}
}

func bothEnds(t *testing.T) (ours, theirs *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	end := func(fd int) *net.UnixConn {
		file := os.NewFile(uintptr(fd), "pair")
		defer file.Close()
		c, err := net.FileConn(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c.(*net.UnixConn)
	}
	return end(fds[0]), end(fds[1])
}

// pending is how many bytes the kernel holds for the reader.
func pending(t *testing.T, conn *net.UnixConn) (n int) {
	t.Helper()
	err := withSocket(conn, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
