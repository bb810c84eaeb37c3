// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"slices"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
)

// unread is a JSON value that is read later, when its type is known.
type unread []byte

// UnmarshalJSON keeps the value, whose bytes the decoder reuses.
func (u *unread) UnmarshalJSON(raw []byte) error {
	*u = slices.Clone(raw)
	return nil
}

// request is one request of a page, and what is to happen once its answer is queued.
type request struct {
	ID     uint64 `json:"id"`
	Verb   string `json:"verb"`
	Params unread `json:"params"`

	after []func()
}

// then has f called once the answer is queued, or cannot be.
func (r *request) then(f func()) { r.after = append(r.after, f) }

type (
	doneAnswer struct {
		ID uint64 `json:"id"`
		OK any    `json:"ok"`
	}
	errorAnswer struct {
		ID    uint64    `json:"id"`
		Error *CtlError `json:"error"`
	}
)

// readRequests reads until the channel ends. A ping is answered here, whatever the other requests wait
// for: it is how a page learns whether anybody is there. The page's own requests take turns; verbs, which may
// wait for processes to end, hold up neither them nor each other.
func (s *session) readRequests(ctl Channel, requests chan<- request) error {
	for {
		message, err := ctl.Read()
		if err != nil {
			return errors.Join(errPageLeft, err)
		}
		r, err := readRequest(message)
		if err != nil {
			if err = s.out.putUrgent(s.ctx, errorAnswer{0, refused("invalid.request", err.Error())}); err != nil {
				return err
			}
			continue
		}
		if !s.begin(r, requests) {
			err = s.out.putUrgent(s.ctx, errorAnswer{r.ID, refused("unavailable.busy", "too many requests are waiting")})
			if err != nil {
				return err
			}
		}
	}
}

var errRequest = errors.New("not a request of this protocol")

func readRequest(message []byte) (request, error) {
	var r request
	if len(message) > verbs.LineBytesMax || strictjson.Unmarshal(message, &r) != nil || r.ID == 0 || r.ID > idMax {
		return request{}, errRequest
	}
	return r, nil
}

// begin has a request done, here or elsewhere. It reports false when there is no room for it.
func (s *session) begin(r request, requests chan<- request) bool {
	_, mine := ownByName()[r.Verb]
	switch {
	case r.Verb == pingVerb:
		s.do(&r)
		return true
	case mine:
		select {
		case requests <- r:
			return true
		default:
			return false
		}
	}
	select {
	case s.verbs <- struct{}{}:
	default:
		return false
	}
	s.work.Go(func() {
		s.do(&r)
		<-s.verbs
	})
	return true
}

// answerRequests does one request after the other.
func (s *session) answerRequests(requests <-chan request) {
	for {
		select {
		case r := <-requests:
			s.do(&r)
		case <-s.ctx.Done():
			return
		}
	}
}

// do does one request and queues its answer.
func (s *session) do(r *request) {
	defer func() {
		for _, f := range r.after {
			f()
		}
	}()
	result, err := s.run(r)
	var answer any = doneAnswer{r.ID, result}
	if err != nil {
		answer = errorAnswer{r.ID, s.refusal(r.Verb, err)}
	}
	if err := s.out.putAnswer(s.ctx, r.ID, answer); err != nil {
		s.stop(err)
	}
}

func (s *session) run(r *request) (any, error) {
	v, mine := ownByName()[r.Verb]
	if r.Verb != helloVerb && r.Verb != pingVerb && !s.greeted.Load() {
		return nil, refused("conflict.hello", "say hello first")
	}
	if !mine {
		return s.doVerb(r)
	}
	ctx, cancel := context.WithTimeout(s.ctx, requestTime)
	defer cancel()
	return v.run(ctx, s, r)
}

// doVerb does a verb of the control socket, as its caller.
func (s *session) doVerb(r *request) (any, error) {
	ctx, cancel := context.WithTimeout(s.ctx, verbTime)
	defer cancel()
	result, told := s.o.Verbs.Do(ctx, s.o.Caller, r.Verb, verbs.Raw(r.Params))
	if told != nil {
		return nil, &CtlError{string(told.Code), told.Message, told.Data}
	}
	return result, nil
}

// decode reads params, which may be left out when there are none.
func decode[P any](params unread) (P, error) {
	var p P
	if params == nil {
		params = unread("{}")
	}
	if err := strictjson.Unmarshal(params, &p); err != nil {
		return p, refused("invalid.params", "the parameters are not those of this request")
	}
	return p, nil
}

// refusals are the errors of the rooms below and what a page is told of them.
var refusals = []struct {
	err           error
	code, message string
}{
	{control.ErrNotController, "denied.not_controller", "another viewer controls this pane"},
	{control.ErrReadOnly, "denied.read_only", "this viewer may only watch"},
	{control.ErrRequested, "conflict.requested", "another viewer has asked for control"},
	{control.ErrNoRequest, "conflict.no_request", "this request for control is not open any more"},
	{control.ErrNotJoined, "not_found.viewer", "no such viewer of this pane"},
	{fanout.ErrDetached, "not_found.viewer", "not attached to this pane any more"},
	{fanout.ErrEnded, "unavailable.ended", "the terminal has ended"},
	{fanout.ErrFull, "unavailable.full", "too many viewers of this pane"},
	{fanout.ErrGuest, "denied.visitor", "a visitor gives a terminal neither size nor colours"},
	{fanout.ErrSize, "invalid.size", "columns and rows must be between 1 and 1000"},
	{context.DeadlineExceeded, "unavailable.timeout", "the terminal's worker did not answer in time"},
}

// refusal is what a page is told of an error. What has no code of its own is written to the log instead.
func (s *session) refusal(verb string, err error) *CtlError {
	var own *CtlError
	if errors.As(err, &own) {
		return own
	}
	for _, known := range refusals {
		if errors.Is(err, known.err) {
			return refused(known.code, known.message)
		}
	}
	s.o.Log.Warn("a page's request failed", "verb", verb, "error", err)
	return refused("internal", "the request failed; the log of spawnd says why")
}
