// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Dispatcher does verbs for callers whose requests come by another way than the control socket, such as a
// page. A request passes the stations of the package's comment from the third on: the way that it came by
// has read it and says who asks.
type Dispatcher struct{ s *server }

// NewDispatcher returns one that may be used by many goroutines at once. Of the options it needs neither
// CheckPeer nor Identity.
func NewDispatcher(o Options) Dispatcher { return Dispatcher{newServer(o)} }

// Do does one verb. The error is one that the verb's row declares, or that every verb may give. A verb after
// whose answer frames or lines follow is CodeUnsupported: those need a connection of their own. ctx bounds
// the work beside the verb's own limit.
func (d Dispatcher) Do(ctx context.Context, caller Caller, verb string, params Raw) (any, *Error) {
	v, ok := Lookup(verb)
	if !ok || v.Stream || v.Lines {
		return nil, Errorf(CodeUnsupported, "this spawnd does not do that verb here")
	}
	c := &conn{s: d.s} // of no socket: only verbs that are refused above would use one
	result, err := v.run(context.WithValue(ctx, callerKey{}, caller), &ask{d.s.o.Server, c, caller}, params)
	if err != nil {
		told, _ := refusalOf(c.declared(verb, err))
		return nil, told
	}
	if c.after != nil {
		c.after() // the end of spawnd: the caller learns of it by this answer or by the end of its connection
	}
	return result, nil
}
