// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/datachannel"
)

// Labels of the channels that a page may open.
const (
	ControlLabel   = "spawn.ctl"
	PaneLabelStart = "spawn.pty." // a pane's id follows
)

var paneLabel = regexp.MustCompile(`^spawn\.pty\.p(0|[1-9][0-9]{0,8})$`)

func validLabel(label string) bool { return label == ControlLabel || paneLabel.MatchString(label) }

// stream is what a detached channel of the stack can do.
type stream interface {
	datachannel.ReadWriteCloserDeadliner
	BufferedAmount() uint64
	SetBufferedAmountLowThreshold(uint64)
	OnBufferedAmountLow(func())
}

// Channel is one reliable, ordered channel of messages. The control channel carries text, a pane's
// carries binary; a message of the other kind ends it. One goroutine may read while others write.
type Channel struct {
	label string
	peer  *Peer
	raw   stream
	sent  atomic.Uint64

	in   []byte // of the reader; grows with the largest message so far
	lent int    // bytes of in that the caller of Read holds: what somebody has typed, wiped at the next call

	writing sync.Mutex    // held by the one writer at work
	low     chan struct{} // what waits in the stack fell below bufferedLow; holds one
	closed  chan struct{}
	once    sync.Once
}

func newChannel(p *Peer, label string, raw stream) *Channel {
	c := &Channel{label: label, peer: p, raw: raw, in: make([]byte, 2<<10), low: make(chan struct{}, 1), closed: make(chan struct{})}
	raw.SetBufferedAmountLowThreshold(bufferedLow)
	// The stack calls this on its read loop, which must never wait.
	raw.OnBufferedAmountLow(func() {
		select {
		case c.low <- struct{}{}:
		default:
		}
	})
	return c
}

// Label returns the name under which the page opened the channel.
func (c *Channel) Label() string { return c.label }

// Sent returns how many bytes Write has taken. A Write under way counts when it returns.
func (c *Channel) Sent() uint64 { return c.sent.Load() }

func (c *Channel) text() bool { return c.label == ControlLabel }

// Write sends one message of at most MessageMax bytes. It blocks while more waits for the page than
// may, until ctx ends. It fails with ErrClosed once the channel is closed. What fails was not sent.
func (c *Channel) Write(ctx context.Context, p []byte) error {
	if len(p) > MessageMax {
		return fmt.Errorf("write to %s: message of %d bytes, at most %d", c.label, len(p), MessageMax)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.awaitRoom(ctx, uint64(len(p))); err != nil {
		return fmt.Errorf("write to %s: %w", c.label, err)
	}
	defer c.interruptible(ctx)()
	// hop out 6/6: into the stack, which holds at most bufferedMax for the page.
	if _, err := c.raw.WriteDataChannel(p, c.text()); err != nil {
		return fmt.Errorf("write to %s: %w", c.label, cmp.Or(context.Cause(ctx), ErrClosed))
	}
	c.sent.Add(uint64(len(p)))
	return nil
}

// interruptible lets the end of ctx release a write that is stuck in the stack, where one message of all
// channels together may wait for the page's window. It returns what undoes that.
func (c *Channel) interruptible(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	released := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(released)
		_ = c.raw.SetWriteDeadline(time.Unix(1, 0))
	})
	return func() {
		if stop() {
			return
		}
		<-released
		_ = c.raw.SetWriteDeadline(time.Time{}) // for the next Write; a closed channel refuses that earlier
	}
}

// awaitRoom waits until n bytes fit. They do not only while more than bufferedMax−MessageMax waits, which
// is above bufferedLow: so the wake-up is still to come whenever this waits for it.
func (c *Channel) awaitRoom(ctx context.Context, n uint64) error {
	for {
		select {
		case <-c.closed:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
		}
		if c.raw.BufferedAmount()+n <= bufferedMax {
			return nil
		}
		select {
		case <-c.low:
		case <-c.closed:
		case <-ctx.Done():
		}
	}
}

// Read returns the next message, which is valid until the next Read, which wipes it. io.EOF when the page has
// closed the channel; after any error the caller closes it.
func (c *Channel) Read() ([]byte, error) {
	clear(c.in[:c.lent])
	c.lent = 0
	for {
		n, text, err := c.raw.ReadDataChannel(c.in)
		switch {
		case errors.Is(err, io.ErrShortBuffer) && len(c.in) < ReceiveMax:
			// The message waits; 2 KiB are enough for keys, and few channels ever see a paste. Its beginning may be here.
			clear(c.in)
			c.in = make([]byte, min(4*len(c.in), ReceiveMax))
			continue
		case errors.Is(err, io.ErrShortBuffer):
			clear(c.in)
			return nil, fmt.Errorf("read from %s: message of more than %d bytes", c.label, ReceiveMax)
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("read from %s: %w", c.label, errors.Join(ErrClosed, err))
		case text != c.text():
			clear(c.in[:n])
			return nil, fmt.Errorf("read from %s: text and binary mixed up", c.label)
		}
		if c.label == ControlLabel {
			c.peer.heard.Add(1)
		}
		// hop in 1/6: one message of what the page has typed, whole.
		c.lent = n
		return c.in[:n], nil
	}
}

// Close closes the channel and releases a blocked Write and Read. What waits in the stack may be lost.
func (c *Channel) Close() {
	c.peer.delist(c)
	c.release()
}

// release is Close for those who hold the peer's lock or are done with its table.
func (c *Channel) release() {
	c.once.Do(func() {
		close(c.closed)
		past := time.Unix(1, 0)
		// Errors here say that the association has gone already, which is what is wanted.
		_ = c.raw.Close()
		_ = c.raw.SetWriteDeadline(past)
		_ = c.raw.SetReadDeadline(past)
	})
}
