// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/failpoint"
)

// LifecycleListener receives lifecycle requests. It has one buffer and keeps nothing: a request is
// answered before the next is read, so that memory and work stay fixed however many come.
type LifecycleListener struct {
	conn    *net.UnixConn
	folder  *Folder
	stem    string
	refused atomic.Uint64
}

// credentialLen is the room for one SCM_CREDENTIALS message. The kernel writes that one first, so
// descriptors that somebody attaches find no room and are never installed.
var credentialLen = unix.CmsgSpace(unix.SizeofUcred)

// Refused returns how many datagrams were ignored or answered with a refusal.
func (l *LifecycleListener) Refused() uint64 { return l.refused.Load() }

// Serve answers requests until ctx ends or the socket is closed, and then returns nil. Requests of
// other users are ignored; of ours, those of a wrong form get AckMalformed, those for another
// instance AckStale, and the others what deliver returns. deliver must not wait for terminal input
// or output: the next request waits behind it.
func (l *LifecycleListener) Serve(ctx context.Context, instance InstanceID, deliver func(Signal) Ack) error {
	stop := context.AfterFunc(ctx, func() { l.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var request [RequestBufLen]byte
	credential := make([]byte, credentialLen)
	for {
		n, sender, err := receive(l.conn, request[:], credential)
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, errForeign):
			l.refused.Add(1)
			continue
		case err != nil:
			return fmt.Errorf("serve lifecycle requests: %w", err)
		}
		l.answer(request[:n], sender, instance, deliver)
	}
}

func (l *LifecycleListener) answer(request []byte, sender string, instance InstanceID, deliver func(Signal) Ack) {
	signal, ack := parseRequest(request, instance)
	if ack == 0 {
		failpoint.Pass(failpoint.SignalRead)
		ack = deliver(signal)
		failpoint.Pass(failpoint.SignalSent)
	} else {
		l.refused.Add(1)
	}
	l.reply(sender, ack)
	failpoint.Pass(failpoint.SignalAcked)
}

// errForeign says that a datagram came without credentials, or with another user's.
var errForeign = errors.New("datagram is not of our user")

// receive reads one datagram of our user. A datagram longer than buf fills it, and so has no legal
// length.
func receive(conn *net.UnixConn, buf, credential []byte) (n int, sender string, err error) {
	n, got, flags, from, err := conn.ReadMsgUnix(buf, credential)
	if err != nil {
		return 0, "", err
	}
	if flags&unix.MSG_CTRUNC != 0 || !ofOurUser(credential[:got]) {
		return 0, "", errForeign
	}
	if flags&unix.MSG_TRUNC != 0 {
		n = len(buf)
	}
	if from != nil {
		sender = from.Name
	}
	return n, sender, nil
}

// ofOurUser reports whether ancillary bytes are the credentials of one living process of our user.
// Without credentials the kernel reports pid 0.
func ofOurUser(ancillary []byte) bool {
	messages, err := unix.ParseSocketControlMessage(ancillary)
	if err != nil || len(messages) != 1 {
		return false
	}
	cred, err := unix.ParseUnixCredentials(&messages[0])
	return err == nil && cred.Pid > 0 && int64(cred.Uid) == int64(os.Geteuid())
}

// reply sends one byte to the sender's socket, if that lies where those of this session must lie: the
// address is the sender's claim, and must not make us write anywhere else. It never waits; a sender
// that does not take its answer asks again.
func (l *LifecycleListener) reply(sender string, ack Ack) {
	name := path.Base(sender)
	if len(name) != replyNameLen || !isHex(name) || path.Base(path.Dir(sender)) != l.stem+replySuffix {
		return
	}
	raw, err := l.conn.SyscallConn()
	if err != nil {
		return
	}
	to := &unix.SockaddrUnix{Name: l.folder.address(l.stem + replySuffix + "/" + name)}
	raw.Write(func(fd uintptr) bool {
		unix.Sendto(int(fd), []byte{byte(ack)}, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, to)
		return true
	})
}
