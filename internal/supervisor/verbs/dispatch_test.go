// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"spawn/internal/strictjson"
)

// named is a caller with a name.
type named string

func (n named) Principal() string { return string(n) }

// readers lets one caller read, and nobody do more.
type readers struct{ who Caller }

func (r readers) Check(c Caller, right Right, _ Resource) error {
	if c != r.who || right != RightRead {
		return errors.New("no")
	}
	return nil
}

func dispatcherOf(t *testing.T, s Server, a Authority) (Dispatcher, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	return NewDispatcher(Options{Server: s, Authority: a, Log: slog.New(slog.NewTextHandler(log, nil))}), log
}

func TestDoPassesTheStationsOfTheSocket(t *testing.T) {
	s := newFakeServer()
	d, _ := dispatcherOf(t, s, readers{named("ada")})
	for _, c := range []struct {
		caller       Caller
		verb, params string
		code         Code
	}{
		{named("ada"), "pane.nothing", `{}`, CodeUnsupported},
		{named("ada"), PaneStream, `{"pane":"p0"}`, CodeUnsupported},
		{named("ada"), PaneClose, `{"pane":"p0","more":1}`, CodeInvalidParams},
		{named("ada"), PaneClose, `{"pane":"q0"}`, CodeInvalidParams},
		{named("ada"), PaneClose, `{"pane":"p0"}`, denied(RightAdmin)},
		{named("bob"), "viewer.list", `{"pane":"p0"}`, denied(RightRead)},
	} {
		if _, err := d.Do(t.Context(), c.caller, c.verb, Raw(c.params)); err == nil || err.Code != c.code {
			t.Errorf("%s %s for %s: %v, want %s", c.verb, c.params, c.caller.Principal(), err, c.code)
		}
	}
	if s.killed {
		t.Error("a refused verb was done")
	}
}

func TestDoGivesWhatTheSocketGives(t *testing.T) {
	s := newFakeServer()
	p := run(t, func(on *server) { on.o.Server = s }).dial()
	line := p.ask(`{"id":1,"verb":"pane.list"}`)
	d, _ := dispatcherOf(t, s, nil)
	result, refused := d.Do(t.Context(), Owner{}, PaneList, nil)
	if refused != nil {
		t.Fatal(refused)
	}
	text, err := strictjson.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":1,"ok":` + string(text) + `}`; strings.TrimSpace(line) != want {
		t.Errorf("the socket says %s, Do %s", line, want)
	}
}

func TestDoTellsNothingOfAnErrorWithoutACode(t *testing.T) {
	s := newFakeServer()
	s.fails = errors.New("/secret/path is full")
	d, log := dispatcherOf(t, s, nil)
	_, err := d.Do(t.Context(), Owner{}, PaneClose, Raw(`{"pane":"p0"}`))
	if err == nil || err.Code != CodeInternal || strings.Contains(err.Message, "secret") {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "/secret/path") {
		t.Errorf("the log does not say why: %s", log)
	}
}
