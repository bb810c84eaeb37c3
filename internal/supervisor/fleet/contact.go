// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

// contact is a connection on which a worker has greeted us.
type contact struct {
	conn     *net.UnixConn
	in       *wire.Reader // holds what came after the greeting
	hello    wire.Hello
	instance endpoint.InstanceID
}

// approach looks at the reservation, dials and reads the greeting, until the context ends. It returns the
// facts and, unless it fails, a connection that the caller closes. The error tells more than the facts.
func (f *Fleet) approach(ctx context.Context, id endpoint.SessionID) (*contact, facts, error) {
	var seen facts
	locked, err := f.folder.Locked(id)
	if err != nil {
		return nil, seen, err
	}
	if seen.lock = lockFree; !locked {
		return nil, seen, nil
	}
	seen.lock = lockHeld
	conn, err := f.folder.Dial(ctx, id)
	if seen.reach = reachOf(err); err != nil {
		return nil, seen, err
	}
	c := &contact{conn: conn, in: wire.NewReader(conn, wire.FromWorker)}
	if seen.hello, err = c.greet(ctx, id); err != nil {
		conn.Close()
		return nil, seen, err
	}
	return c, seen, nil
}

// reachOf classifies a dial. A stopped worker with a full backlog is dialled until the time is over, and
// so never taken for one behind whose socket nobody listens.
func reachOf(err error) reachFact {
	switch {
	case err == nil:
		return reachConnected
	case errors.Is(err, endpoint.ErrPeer):
		return reachForeign
	case errors.Is(err, endpoint.ErrNotListening):
		return reachNobody
	}
	return reachFailed
}

// greet reads HELLO, which is always the first frame. A worker that was never started is greeted without
// an error: the launch that started the process waits for exactly that.
func (c *contact) greet(ctx context.Context, id endpoint.SessionID) (helloFact, error) {
	defer c.bound(ctx)()
	k, payload, err := c.in.Next()
	switch {
	case isFrameError(err):
		return helloGarbled, fmt.Errorf("read HELLO: %w", err)
	case err != nil:
		return helloNone, fmt.Errorf("read HELLO: %w", err)
	case k != wire.KindHello:
		return helloGarbled, fmt.Errorf("read HELLO: got %v first", k)
	}
	c.hello, err = wire.DecodeHello(payload)
	switch {
	case errors.Is(err, wire.ErrVersion):
		return helloVersion, err
	case err != nil:
		return helloGarbled, err
	case c.hello.SessionID != string(id):
		return helloSession, fmt.Errorf("check HELLO: it names session %s", c.hello.SessionID)
	}
	if c.instance, err = endpoint.ParseInstanceID(c.hello.InstanceID); err != nil {
		return helloGarbled, err
	}
	if c.hello.State == wire.StateWaiting {
		return helloWaiting, nil
	}
	return helloLive, nil
}

func isFrameError(err error) bool {
	for _, known := range []error{wire.ErrUnknownKind, wire.ErrDirection, wire.ErrTooLarge, wire.ErrSize} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// bound makes reads and writes on the connection fail when the context ends. The returned function takes
// the bound away again; it must be called before the connection is used otherwise.
func (c *contact) bound(ctx context.Context) (unbind func()) {
	past := time.Unix(1, 0)
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.conn.SetDeadline(past)
		close(done)
	})
	return func() {
		if !stop() {
			<-done // else its deadline could come after ours
		}
		c.conn.SetDeadline(time.Time{})
	}
}

// write sends one frame within the context's time.
func (c *contact) write(ctx context.Context, frame []byte) error {
	defer c.bound(ctx)()
	if _, err := c.conn.Write(frame); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errors.Join(err, context.Cause(ctx))
		}
		return err
	}
	return nil
}
