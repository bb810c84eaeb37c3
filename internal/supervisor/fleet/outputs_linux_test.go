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
// before Recv asks, and then what is read ahead. The kernel is kept full, so that the reader is offered more than it may take.
func TestOutputWaitsInTheKernel(t *testing.T) {
	const chunks = 1000
	ours, theirs := bothEnds(t)
	house := newHouse(t)
	h := house.fleet("good").drive(endpoint.NewSessionID(), &contact{conn: ours, in: wire.NewReader(ours, wire.FromWorker)})
	defer h.Close()
	var unsent []byte
	for range chunks {
		var err error
		if unsent, err = wire.AppendOutput(unsent, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	frame := len(unsent) / chunks
	sent, most := 0, 0
	for asked := range chunks {
		for n := 1; n > 0 && len(unsent) > 0; sent += n {
			n = endpoint.TryWrite(theirs, unsent)
			unsent = unsent[n:]
		}
		waits := sent - pending(t, ours) - asked*frame
		if waits > outputBytesMax || asked == 0 && waits > 0 {
			t.Fatalf("after %d calls of Recv %d bytes wait", asked, waits)
		}
		most = max(most, waits)
		next(t, h, wire.KindOutput)
	}
	if most < outputBytesMax-2*frame {
		t.Errorf("at most %d bytes waited: the bound of %d was never reached", most, outputBytesMax)
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
