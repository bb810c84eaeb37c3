// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"spawn/internal/strictjson"
)

// crowd is a server of everything that is joined later, as far as these tests go.
type crowd struct {
	*fakeServer
	batches chan string
	ended   chan error // gets the error of the wait that the peer's end ends
}

func (c crowd) Follow(_ context.Context, p EventsSubscribeParams) (EventsSubscribeResult, func(context.Context) (Raw, error), error) {
	next := func(ctx context.Context) (Raw, error) {
		select {
		case b := <-c.batches:
			return Raw(b), nil
		case <-ctx.Done():
			c.ended <- ctx.Err()
			return nil, ctx.Err()
		}
	}
	return EventsSubscribeResult{"spawn/x"}, next, nil
}

// doRow runs a row as a connection would.
func doRow(t *testing.T, c *conn, name, params string) (any, error) {
	t.Helper()
	for _, v := range table {
		if v.Name == name {
			return v.run(t.Context(), &ask{c.s.o.Server, c, Owner{}}, Raw(params))
		}
	}
	t.Fatalf("no verb %s", name)
	return nil, nil
}

func TestLinesFollowUntilThePeerGoes(t *testing.T) {
	s := crowd{newFakeServer(), make(chan string), make(chan error, 1)}
	r := run(t, func(on *server) { on.o.Server = s })
	p := r.dial()
	p.ask(`{"id":1,"verb":"pane.list"}`) // it is admitted
	r.awaitSilence()
	r.s.mu.Lock()
	var c *conn
	for c = range r.s.mu.conns {
	}
	r.s.mu.Unlock()
	result, err := doRow(t, c, EventsSubscribe, `{}`)
	if err != nil || result != (EventsSubscribeResult{"spawn/x"}) {
		t.Fatal(result, err)
	}
	r.awaitSilence()                             // and let the connection's goroutine see what was set
	p.say("{\"id\":2,\"verb\":\"pane.list\"}\n") // wakes the connection, which follows after its answer
	p.hear()
	for i := range 3 {
		line := `{"cursor":"` + strconv.Itoa(i) + `"}`
		s.batches <- line
		if got := p.hear(); got != line {
			t.Errorf("%s, want %s", got, line)
		}
	}
	if err := p.u.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestHowLongAVerbMayRun(t *testing.T) {
	for params, want := range map[string]time.Duration{
		`{"pane":"p0","text":"x"}`:                     waitDefault,
		`{"pane":"p0","text":"x","timeout_ms":600000}`: 10 * time.Minute,
		`{"pane":"p0"}`:                                runTimeout,
	} {
		for _, v := range table {
			if v.Name == PaneWait && v.Long(Raw(params)) != want {
				t.Errorf("%s: %v, want %v", params, v.Long(Raw(params)), want)
			}
		}
	}
}

// Parameters that exclude or need each other are told before anything is done.
func TestParametersLimitEachOther(t *testing.T) {
	byName := map[string]Verb{}
	for _, v := range table {
		byName[v.Name] = v
	}
	for _, c := range []struct{ verb, params, param string }{
		{PaneSend, `{"pane":"p0"}`, "text"},
		{PaneSend, `{"pane":"p0","text":"a","paste":"b"}`, "text"},
		{PaneSend, `{"pane":"p0","text":""}`, "text"},
		{PaneSearch, `{"pane":"p0","text":"a","regex":"b"}`, "text"},
		{PaneCapture, `{"pane":"p0","first":3,"last":2}`, "last"},
		{PaneResize, `{"pane":"p0","axis":"cols"}`, "ratio"},
		{PaneResize, `{"pane":"p0","axis":"cols","ratio":1,"cells":1,"cols":80,"rows":24}`, "ratio"},
		{PaneResize, `{"pane":"p0","axis":"cols","cells":1}`, "cells"},
		{PanePlace, `{"pane":"p0","axis":"cols"}`, "beside"},
		{PanePlace, `{"pane":"p0","beside":"p1"}`, "axis"},
		{PanePlace, `{"pane":"p0","beside":"p1","axis":"cols","float":{"width":"3"}}`, "float"},
		{PanePlace, `{"pane":"p0","float":{"width":"101%"}}`, "float.width"},
		{PaneMove, `{"pane":"p0","axis":"cols"}`, "beside"},
		{PaneTag, `{"pane":"p0","key":"Owner"}`, "key"},
		{PaneTag, `{"pane":"p0","key":"a","value":"b","remove":true}`, "value"},
		{EventsSubscribe, `{"cursor":"1"}`, "cursor"},
		{GrantIssue, `{"scopes":[]}`, "scopes"},
		{GrantIssue, `{"scopes":[{"resource":"pane:p0","rights":["all"]}]}`, "scopes"},
		{GrantIssue, `{"scopes":[{"resource":"pane:../x","rights":["read"]}]}`, "scopes.0.resource"},
		{RecoveryInspect, `{"checkpoint":"../../etc/passwd"}`, "checkpoint"},
		{RecoveryInspect, `{"checkpoint":"c01234567-89ab-1cde-8fab-0123456789ab"}`, "checkpoint"},
		{PaneRelaunch, `{"pane":"p0","argv":["sh"],"ack_orphans":false}`, "ack_orphans"},
		{PaneRelaunch, `{"pane":"p0","argv":["sh"]}`, "ack_orphans"},
		{PaneRelaunch, `{"pane":"p0","argv":[],"ack_orphans":true}`, "argv"},
	} {
		err := byName[c.verb].CheckParams(Raw(c.params))
		if e := (*Error)(nil); !errors.As(err, &e) || ExitCode(err) != 2 || e.Data["param"] != c.param {
			t.Errorf("%s %s: %v", c.verb, c.params, err)
		}
	}
}

// The examples of the recovery specification, section 6, are requests here.
func TestRecoveryIsAsItsSpecificationHasIt(t *testing.T) {
	for _, v := range table {
		if v.Name != PaneRelaunch {
			continue
		}
		err := v.CheckParams(Raw(`{"pane":"p0","argv":["/missing/program"],"ack_orphans":true}`))
		if err != nil || v.ReadsOnly() || !v.May("denied.write") || !v.May("unavailable.spawn") || v.May("unavailable.start") {
			t.Errorf("%+v: %v", v, err)
		}
	}
	r := RecoveryRestoreResult{Checkpoint: exampleCheckpoint, Sessions: []Renumbered{{"s0", "s0"}}, Windows: []Renumbered{{"w0", "w0"}}, Panes: []Renumbered{{"p0", "p0"}}}
	want := `{"checkpoint":"` + exampleCheckpoint + `","sessions":[{"previous":"s0","current":"s0"}],"windows":[{"previous":"w0","current":"w0"}],"panes":[{"previous":"p0","current":"p0"}]}`
	if got, err := strictjson.Marshal(r); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if e := invalidCheckpoint(); e.Code.Exit() != 2 || !strings.HasPrefix(string(e.Code), "invalid_params.") {
		t.Errorf("%+v", e)
	}
}

func invalidCheckpoint() *Error {
	for _, v := range table {
		if e := (*Error)(nil); v.Name == RecoveryForget && errors.As(v.CheckParams(Raw(`{"checkpoint":"x"}`)), &e) {
			return e
		}
	}
	return &Error{}
}
