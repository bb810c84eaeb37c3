// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/descriptors"
)

const readerBytes = 4 << 10 // most requests are shorter

// conn is one connection to the control socket. Its goroutine alone reads; it alone writes too, until
// a stream begins.
type conn struct {
	s      *server
	u      *net.UnixConn
	r      *bufio.Reader
	stream *stream                            // nil until a streaming verb has been done
	next   func(context.Context) (Raw, error) // likewise of a verb of lines
	after  func()                             // what follows the answer; nil for nothing
	kept   bool                               // its descriptor is one that nobody may keep: it asks, and does not stay
}

func newConn(s *server, u *net.UnixConn) *conn {
	return &conn{s: s, u: u, r: bufio.NewReaderSize(u, readerBytes), kept: descriptors.Among(u, descriptors.Kept)}
}

// mayStay refuses what would keep a descriptor that is to be there for those who ask.
func (c *conn) mayStay() error {
	if c.kept {
		return Errorf(CodeBusy, "spawnd has too few file descriptors left for another viewer or reader: raise its limit (LimitNOFILE=, ulimit -n), or close some")
	}
	return nil
}

// serve answers one request after another, until the peer goes or a stream has ended.
func (c *conn) serve() {
	for {
		line, err := c.request()
		if errors.Is(err, ErrLine) {
			c.answer(0, nil, Errorf(CodeInvalidJSON, "a request has at most %d bytes", LineBytesMax))
		}
		if err != nil || !c.serveLine(line) {
			return
		}
		switch {
		case c.stream != nil:
			c.stream.serve()
			return
		case c.next != nil:
			c.follow()
			return
		}
	}
}

// request waits for a line. Only once it has begun does its time run.
func (c *conn) request() ([]byte, error) {
	c.s.mark(c, false)
	defer c.s.mark(c, true)
	if err := c.u.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.r.Peek(1); err != nil {
		return nil, err
	}
	if err := c.u.SetReadDeadline(time.Now().Add(c.s.lineTimeout)); err != nil {
		return nil, err
	}
	return ReadLine(c.r, LineBytesMax)
}

// serveLine does what a request asks and answers it. It reports whether the connection goes on: after a
// line that is no request nothing says where the next begins.
func (c *conn) serveLine(line []byte) bool {
	var r request
	if err := strictjson.Unmarshal(line, &r); err != nil {
		c.answer(0, nil, Errorf(CodeInvalidJSON, "a request is one line of JSON with id, verb and params"))
		return false
	}
	failpoint.Pass(failpoint.CallRead)
	result, err := c.run(r)
	failpoint.Pass(failpoint.CallDone)
	told := c.answer(r.ID, result, c.declared(r.Verb, err))
	if c.after != nil {
		c.after() // even if the peer has left: it was promised
		return false
	}
	return told
}

func (c *conn) run(r request) (any, error) {
	v, ok := Lookup(r.Verb)
	if !ok {
		return nil, Errorf(CodeUnsupported, "this spawnd does not know that verb")
	}
	caller, err := c.s.o.Identity.Identify(c.u, r.Token)
	if err != nil {
		return nil, Errorf(CodeToken, "the token is not one that this spawnd has issued")
	}
	ctx, a := context.WithValue(c.s.ctx, callerKey{}, caller), &ask{c.s.o.Server, c, caller}
	if !v.waits {
		return v.run(ctx, a, r.Params)
	}
	return c.attended(ctx, func(ctx context.Context) (any, error) { return v.run(ctx, a, r.Params) })
}

// attended does what may take long for as long as the peer is there: one that has gone, or that will say
// nothing more, waits for no answer. What it has sent already stays for the next request.
func (c *conn) attended(ctx context.Context, do func(context.Context) (any, error)) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.u.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if _, err := c.r.Peek(1); err != nil {
			cancel()
		}
	}()
	result, err := do(ctx)
	_ = c.u.SetReadDeadline(time.Now()) // the watch ends; the next request has a deadline of its own
	<-watched
	return result, err
}

// declared finds the caller's words for an error, and logs what is a mistake of ours: a code or data that
// the tables do not have.
func (c *conn) declared(verb string, err error) error {
	if err == nil {
		return nil
	}
	told, public := refusalOf(err)
	if !public {
		c.s.o.Log.Warn("a request failed", "verb", verb, "error", err)
	}
	if v, ok := Lookup(verb); ok && !v.May(told.Code) || !told.keeps() {
		c.s.o.Log.Error(undeclared, "verb", verb, "code", told.Code)
	}
	return told
}

// undeclared is the log line of an error that the verb's row does not have.
const undeclared = "a verb gave an error that its row does not declare"

// answer writes one line and reports whether the peer could be told.
func (c *conn) answer(id int64, result any, err error) bool {
	line, err := c.encode(id, result, err)
	if err != nil {
		c.s.o.Log.Error("an answer could not be encoded", "error", err)
		return false
	}
	if err := c.u.SetWriteDeadline(time.Now().Add(answerTimeout)); err != nil {
		return false
	}
	failpoint.Tear(failpoint.AnswerTorn, line, func(half []byte) { c.u.Write(half) })
	_, err = c.u.Write(line)
	failpoint.Pass(failpoint.CallAnswered)
	return err == nil
}

func (c *conn) encode(id int64, result any, err error) ([]byte, error) {
	a := answer{ID: id}
	if err != nil {
		a.Error, _ = refusalOf(err)
	} else if a.OK, err = strictjson.Marshal(result); err != nil {
		return nil, err
	}
	line, err := strictjson.Marshal(a)
	return append(line, '\n'), err
}

// follow writes a line for each thing that comes next, until there is nothing more or the peer goes. The
// peer says nothing any more; whatever it sends ends the connection.
func (c *conn) follow() {
	if c.u.SetReadDeadline(time.Time{}) != nil {
		return
	}
	ctx, cancel := context.WithCancel(c.s.ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer cancel()
		_, _ = c.r.ReadByte() // whatever it returns, the peer waits for nothing more
	}()
	for {
		line, err := c.next(ctx)
		if err != nil || c.u.SetWriteDeadline(time.Now().Add(answerTimeout)) != nil {
			break
		}
		if _, err := c.u.Write(append(slices.Clone(line), '\n')); err != nil {
			break
		}
	}
	_ = c.u.Close() // the reader ends
	<-gone
}
