// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/failpoint"
)

const (
	// signalAttemptMax is how long one request waits for its answer before it is sent again.
	signalAttemptMax = 500 * time.Millisecond
	// signalRetryWait is the pause before asking again a worker that holds its lock and does not
	// listen: it is about to, or on its way out.
	signalRetryWait = 10 * time.Millisecond
)

// Signal asks the worker process instance of a session to signal its process group, and returns its
// answer. Requests are idempotent: one that finds the queue full, or gets no answer, is sent again
// until the context ends, at the latest after SignalDeadline. When nobody holds the session's lock
// the answer is AckGone, for no process of that instance is left.
//
// An error means that the outcome is unknown. A request that lies in a stopped worker's queue is
// carried out when it goes on.
func (f *Folder) Signal(ctx context.Context, id SessionID, instance InstanceID, s Signal) (Ack, error) {
	ctx, cancel := context.WithTimeout(ctx, SignalDeadline)
	defer cancel()
	request := appendRequest(nil, instance, s)
	for {
		ack, err := f.ask(ctx, id, request)
		if err == nil {
			return ack, nil
		}
		again, ack, err := f.afterFailure(ctx, id, err)
		if !again {
			return ack, err
		}
	}
}

// afterFailure decides what follows a request that got no answer.
func (f *Folder) afterFailure(ctx context.Context, id SessionID, cause error) (again bool, ack Ack, err error) {
	fail := func(err error) (bool, Ack, error) {
		return false, 0, fmt.Errorf("signal session %s: %w", id, err)
	}
	if ctx.Err() != nil {
		return fail(errors.Join(ctx.Err(), cause))
	}
	switch {
	case errors.Is(cause, os.ErrDeadlineExceeded):
		return true, 0, nil
	case !errors.Is(cause, ErrNotListening):
		return fail(cause)
	}
	held, err := f.Locked(id)
	if err != nil {
		return fail(err)
	}
	if !held {
		return false, AckGone, nil
	}
	if err := wait(ctx, signalRetryWait); err != nil {
		return fail(errors.Join(err, cause))
	}
	return true, 0, nil
}

// ask sends one request from a socket of its own and waits for the answer. The socket is connected,
// so the kernel says when the worker's queue has room, and takes answers from nobody else.
func (f *Folder) ask(ctx context.Context, id SessionID, request []byte) (Ack, error) {
	if err := f.checkSocket(string(id) + lifecycleSuffix); err != nil {
		return 0, err
	}
	conn, remove, err := f.dialLifecycle(ctx, id)
	if err != nil {
		return 0, err
	}
	defer remove()
	defer conn.Close()
	conn.SetDeadline(attemptDeadline(ctx))
	if _, err := conn.Write(request); err != nil {
		return 0, notListening(err)
	}
	failpoint.Pass(failpoint.SignalAsked)
	var answer [ackLen + 1]byte
	credential := make([]byte, credentialLen)
	n, _, err := receive(conn, answer[:], credential)
	if err != nil {
		return 0, notListening(err)
	}
	return parseAck(answer[:n])
}

func attemptDeadline(ctx context.Context) time.Time {
	attempt := time.Now().Add(signalAttemptMax)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(attempt) {
		return deadline
	}
	return attempt
}

// dialLifecycle connects a new socket in the session's reply folder to the lifecycle socket. remove
// takes away its name, and the folder when it was the last one in it.
func (f *Folder) dialLifecycle(ctx context.Context, id SessionID) (conn *net.UnixConn, remove func(), err error) {
	defer runtime.KeepAlive(f)
	folder := string(id) + replySuffix
	if err := f.openReplyFolder(folder); err != nil {
		return nil, nil, err
	}
	failpoint.Pass(failpoint.ReplyMade)
	name := folder + "/" + randomName()
	remove = func() {
		at := int(f.dir.Fd())
		unix.Unlinkat(at, name, 0)
		unix.Unlinkat(at, folder, unix.AT_REMOVEDIR)
	}
	dialer := net.Dialer{
		LocalAddr: &net.UnixAddr{Net: "unixgram", Name: f.address(name)},
		Control:   privateDatagrams,
	}
	c, err := dialer.DialContext(ctx, "unixgram", f.address(string(id)+lifecycleSuffix))
	if err != nil {
		remove()
		return nil, nil, notListening(err)
	}
	failpoint.Pass(failpoint.ReplyBound)
	return c.(*net.UnixConn), remove, nil
}

// openReplyFolder makes sure that the session's reply folder exists and is ours alone. Another sender
// may remove it before we bind; ask then fails as if nobody listened, and is repeated.
func (f *Folder) openReplyFolder(name string) error {
	dir, err := openPrivateDir(f.dir, name)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.join(name), notListening(err))
	}
	return dir.Close()
}

func randomName() string {
	var b [replyNameLen / 2]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
