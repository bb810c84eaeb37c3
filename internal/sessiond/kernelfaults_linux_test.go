// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/unmet"
)

// kernelErrors are those that the kernel may return for any of the calls.
var kernelErrors = []string{"ENOSPC", "EIO", "EDQUOT", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "EACCES", "EINTR", "EFBIG", "ESTALE"}

// The system calls by which a worker takes its lock, makes its folder, its log and its sockets, and removes all of that, fail
// one after the other, at call 1, 2, 3, … of each, until none is left to fail. The worker says why it could not begin, or it
// serves and ends; what it leaves is found by its lock, and swept.
func TestWorkerOverAFailingKernel(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		unmet.Skip(t, "strace is not installed")
	}
	for _, call := range []string{"flock", "openat", "mkdirat", "fchmod", "bind", "listen", "unlinkat"} {
		t.Run(call, func(t *testing.T) {
			n := 1
			for ; failKernelAt(t, strace, call, n); n++ {
			}
			if n == 1 {
				t.Errorf("the worker never calls %s", call)
			}
			t.Logf("%d calls", n-1)
		})
	}
}

// failKernelAt lets the n-th call fail with each error, once and from then on, and reports whether there was such a call.
func failKernelAt(t *testing.T, strace, call string, n int) (struck bool) {
	t.Helper()
	for _, errno := range kernelErrors {
		struck = failKernel(t, strace, call, errno, fmt.Sprint(n)) || struck
		if errno != "EINTR" { // for good, it is a signal that comes before each try
			struck = failKernel(t, strace, call, errno, fmt.Sprint(n)+"+") || struck
		}
	}
	return struck
}

func failKernel(t *testing.T, strace, call, errno, when string) (struck bool) {
	t.Helper()
	worker, err := workerBinary()
	if err != nil {
		t.Fatal(err)
	}
	folder, id := openTestFolder(t), endpoint.NewSessionID()
	dir, what := t.TempDir(), fmt.Sprintf("%s: %s at %s", call, errno, when)
	trace, complaint := filepath.Join(dir, "trace"), filepath.Join(dir, "complaint")
	p := executeTraced(t, folder, id, complaint, strace, "-f", "-qq", "-o", trace, "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%s", call, errno, when), worker, "--session-id", id.String(), "--worker-dir", folder.Path())
	peer := p.awaitHello()
	if peer != nil {
		instance, err := endpoint.ParseInstanceID(peer.hello.InstanceID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Signal(context.Background(), id, instance, endpoint.SignalTERM); err != nil {
			t.Errorf("%s: TERM: %v", what, err)
		}
		peer.requireEnd()
		peer.conn.Close()
	}
	p.await()
	said, err := os.ReadFile(trace)
	why, failed := os.ReadFile(complaint)
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	if peer == nil && len(why) == 0 {
		t.Errorf("%s: it did not begin, and does not say why", what)
	}
	requireFound(t, what, folder)
	if err := folder.Sweep(id); err != nil {
		t.Errorf("%s: sweep: %v", what, err)
	}
	requireEmpty(t, folder)
	return bytes.Contains(said, []byte("INJECTED"))
}

// executeTraced is executeFile for a worker below another program, which holds standard error open for as long as the worker
// lives; so it is a file.
func executeTraced(t *testing.T, folder *endpoint.Folder, id endpoint.SessionID, complaint string, argv ...string) *process {
	t.Helper()
	theirs, err := os.Create(complaint)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	lock := lockFor(t, folder, id)
	defer lock.Close()
	p := &process{t: t, folder: folder, id: id, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	p.cmd.Stderr, p.cmd.ExtraFiles, p.cmd.Env = theirs, []*os.File{lock}, []string{"HOME=/"}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// awaitHello connects to the worker as soon as it greets, and returns nil when it ends before that.
func (p *process) awaitHello() *peer {
	p.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(patience)
	for {
		conn, err := p.folder.Dial(context.Background(), p.id)
		if err == nil {
			peer := &peer{t: p.t, conn: conn, frames: wire.NewReader(conn, wire.FromWorker)}
			var first frame
			if first, err = peer.read(); err == nil {
				peer.hello, err = wire.DecodeHello(first.payload)
			}
			if err == nil {
				return peer
			}
			conn.Close()
		}
		select {
		case <-p.ended:
			return nil
		case <-deadline:
			p.t.Fatalf("neither serves nor ends: %v", err)
		case <-look.C:
		}
	}
}

// requireFound wants what is left in a folder to have a lock file, without which nobody would look for it.
func requireFound(t *testing.T, what string, folder *endpoint.Folder) {
	t.Helper()
	left, err := os.ReadDir(folder.Path())
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := folder.Scan(); len(left) > 0 && (len(ids) != 1 || err != nil) {
		t.Errorf("%s: left %v, and found %v, %v", what, left, ids, err)
	}
}
