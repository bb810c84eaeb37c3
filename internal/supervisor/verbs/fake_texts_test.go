// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// fakeTexts is a terminal that shows nothing, in the panes that a fakeServer has.
type fakeTexts struct {
	gaveUp chan error // 1 slot: why a wait ended
}

func newFakeTexts() fakeTexts { return fakeTexts{make(chan error, 1)} }

func (fakeTexts) SendPane(_ context.Context, p PaneSendParams) (PaneSendResult, error) {
	return PaneSendResult{Bytes: len(p.Text)}, noPane(p.Pane)
}

func (fakeTexts) CapturePane(_ context.Context, p PaneCaptureParams) (PaneCaptureResult, error) {
	return PaneCaptureResult{Pane: p.Pane}, noPane(p.Pane)
}

// WaitPane waits for what never comes.
func (f fakeTexts) WaitPane(ctx context.Context, p PaneWaitParams) (PaneWaitResult, error) {
	if err := noPane(p.Pane); err != nil {
		return PaneWaitResult{}, err
	}
	<-ctx.Done()
	f.gaveUp <- ctx.Err()
	return PaneWaitResult{}, ctx.Err()
}

func (fakeTexts) RunInPane(_ context.Context, p PaneRunParams) (PaneRunResult, error) {
	return PaneRunResult{}, noPane(p.Pane)
}

func (fakeTexts) SearchPane(_ context.Context, p PaneSearchParams) (PaneSearchResult, error) {
	return PaneSearchResult{}, noPane(p.Pane)
}

func (fakeTexts) ExportPane(_ context.Context, p PaneExportParams) (PaneExportResult, error) {
	return PaneExportResult{}, noPane(p.Pane)
}

// Who waits and goes is not waited for; what was sent behind a wait is the next request.
func TestAWaitEndsWithWhoWaits(t *testing.T) {
	r := run(t, nil)
	p := r.dial()
	p.say(`{"id":1,"verb":"pane.wait","params":{"pane":"p1","exit":true,"timeout_ms":3600000}}` + "\n")
	if err := p.u.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := <-r.server.gaveUp; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p = r.dial()
	p.say(`{"id":1,"verb":"pane.wait","params":{"pane":"p1","exit":true,"timeout_ms":1}}` + "\n" + `{"id":2,"verb":"pane.list"}` + "\n")
	if got := p.hear(); !strings.HasPrefix(got, `{"id":1,"error":{"code":"unavailable.timeout"`) {
		t.Error(got)
	}
	if got := p.hear(); !strings.HasPrefix(got, `{"id":2,"ok":`) {
		t.Error(got)
	}
	<-r.server.gaveUp
	got := p.ask(`{"id":3,"verb":"pane.wait","params":{"pane":"p1","exit":true,"timeout_ms":1}}`)
	if !strings.Contains(got, "unavailable.timeout") || !strings.HasPrefix(p.ask(`{"id":4,"verb":"pane.list"}`), `{"id":4,"ok":`) {
		t.Error(got)
	}
}

// blind lets everybody do everything but read.
type blind struct{ Owner }

func (blind) Check(_ Caller, right Right, _ Resource) error {
	if right == RightRead {
		return errors.New("may not read")
	}
	return nil
}

// Whoever may type and not read types, and gets no text by any verb.
func TestTextIsForReadersAlone(t *testing.T) {
	r := run(t, func(s *server) { s.o.Authority = blind{} })
	p := r.dial()
	for _, v := range textVerbs {
		if v.Name == PaneSend {
			continue
		}
		params := map[string]string{
			PaneCapture: `{"pane":"p1"}`, PaneWait: `{"pane":"p1","exit":true}`, PaneRun: `{"pane":"p1","command":"ls"}`,
			PaneSearch: `{"pane":"p1","text":"x"}`, PaneExport: `{"pane":"p1","format":"plain"}`,
		}[v.Name]
		if got := p.ask(`{"id":1,"verb":"` + v.Name + `","params":` + params + `}`); !strings.Contains(got, `"code":"denied.read"`) {
			t.Errorf("%s: %s", v.Name, got)
		}
	}
	if got := p.ask(`{"id":1,"verb":"pane.send","params":{"pane":"p1","text":"x"}}`); !strings.Contains(got, `"ok":{"bytes":1}`) {
		t.Error(got)
	}
}
