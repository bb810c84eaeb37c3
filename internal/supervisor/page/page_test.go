// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
)

func TestHelloTellsEveryPaneAndThenWhatChanges(t *testing.T) {
	h := serve(t)
	code := 3
	h.board.Put(PaneInfo{ID: "p0", State: PaneExited, ExitCode: &code})
	h.board.Put(PaneInfo{ID: "p1", Title: "a\x1b]0;b\u202e", State: PaneRunning})
	h.send(`{"id":7,"verb":"hello","params":{"proto":2}}`)
	h.hearOK(7)
	for i, want := range []string{
		`{"id":"p0","name":"","title":"","state":"exited","cols":0,"rows":0,"exit_code":3,"signal":"","argv0":"","foreground":"","window":"","index":0,"archive":null}`,
		`{"id":"p1","name":"","title":"a]0;b","state":"running","cols":0,"rows":0,"exit_code":null,"signal":"","argv0":"","foreground":"","window":"","index":0,"archive":null}`,
	} {
		if m := h.hear(); m.Event != "pane" || string(m.Pane) != want {
			t.Errorf("pane %d: %s", i, m.Pane)
		}
	}
	if m := h.hear(); m.Event != "panes_ready" {
		t.Errorf("heard %+v, want panes_ready", m)
	}
	h.board.Put(PaneInfo{ID: "p0", State: PaneExited, ExitCode: &code}) // nothing new
	h.board.Remove("p1")
	if m := h.hear(); m.Event != "pane_removed" || string(m.Pane) != `"p1"` {
		t.Errorf("heard %+v, want pane_removed", m)
	}
	h.send(`{"id":8,"verb":"hello","params":{"proto":2}}`)
	h.hearError(8, "conflict.hello")
}

// A pane that the page may not see is never told of, and one that it may not see any more is gone for it.
func TestOnlyWhatThePageMaySeeIsTold(t *testing.T) {
	h := serve(t)
	h.hidden.Store("p1")
	h.board.Put(PaneInfo{ID: "p0"})
	h.board.Put(PaneInfo{ID: "p1"})
	h.send(`{"id":1,"verb":"hello","params":{"proto":2}}`)
	h.hearOK(1)
	if m := h.hear(); m.Event != "pane" || !strings.Contains(string(m.Pane), `"p0"`) {
		t.Errorf("heard %+v, want p0", m)
	}
	if m := h.hear(); m.Event != "panes_ready" {
		t.Errorf("heard %+v, want panes_ready", m)
	}
	h.board.Remove("p1") // nobody is told of what nobody saw
	h.hidden.Store("p0")
	h.board.Put(PaneInfo{ID: "p0", Window: "w7"})
	if m := h.hear(); m.Event != "pane_removed" || string(m.Pane) != `"p0"` {
		t.Errorf("heard %+v, want pane_removed", m)
	}
	h.board.Put(PaneInfo{ID: "p0", Window: "w8"})
	h.hidden.Store("")
	h.board.Put(PaneInfo{ID: "p0", Window: "w9"})
	if m := h.hear(); m.Event != "pane" || !strings.Contains(string(m.Pane), `"w9"`) {
		t.Errorf("heard %+v, want p0 again", m)
	}
}

func TestRequestsAreReadStrictly(t *testing.T) {
	h := serve(t)
	for text, code := range map[string]string{
		`{"id":5,"verb":"hello","params":{"proto":1}}`:              "unsupported.proto",
		`{"id":5,"verb":"pane.new","params":{"cols":80,"rows":24}}`: "conflict.hello",
		`{"id":5,"verb":"Ping","params":{}}`:                        "conflict.hello",
		`{"id":5,"verb":"ping","params":{"x":1}}`:                   "invalid.params",
		`{"id":5,"verb":"ping","params":null}`:                      "invalid.params",
		`{"id":5,"verb":"ping","params":[]}`:                        "invalid.params",
		`{"id":5,"verb":"hello","params":{"Proto":1}}`:              "invalid.params",
		`{"id":5,"verb":"hello","params":{"proto":2,"proto":2}}`:    "",
		`{"id":5,"verb":"hello","params":{"proto":"1"}}`:            "invalid.params",
		`{"id":5,"verb":"hello","params":{"proto":2.5}}`:            "invalid.params",
		`{"id":0,"verb":"ping","params":{}}`:                        "",
		`{"id":-1,"verb":"ping","params":{}}`:                       "",
		`{"id":9007199254740992,"verb":"ping","params":{}}`:         "",
		`{"id":"5","verb":"ping","params":{}}`:                      "",
		`{"id":5,"verb":"ping","params":{},"x":1}`:                  "",
		`{"id":5,"verb":"ping","params":{}}{}`:                      "",
		`{"id":5,"id":5,"verb":"ping","params":{}}`:                 "",
		`null`: "",
		``:     "",
		`[]`:   "",
		"{\"id\":5,\"verb\":\"\xff\",\"params\":{}}":                         "",
		`{"id":5,"verb":"ping","params":` + strings.Repeat("[", 10000) + `}`: "",
	} {
		h.send(text)
		if code == "" {
			h.hearError(0, "invalid.request")
		} else {
			h.hearError(5, code)
		}
	}
	h.send(`{"id":9007199254740991,"verb":"ping"}`)
	h.hearOK(9007199254740991)
}

func TestParametersAreChecked(t *testing.T) {
	h := serve(t)
	h.hello()
	h.attach("p0")
	for params, code := range map[string]string{
		`"pane.new","params":{"cols":0,"rows":24}`:                                        "invalid.size",
		`"pane.new","params":{"cols":80,"rows":1001}`:                                     "invalid.size",
		`"pane.new","params":{"cols":70000,"rows":24}`:                                    "invalid.size",
		`"pane.new","params":{"cols":-1,"rows":24}`:                                       "invalid.size",
		`"view.attach","params":{"pane":"p0","cols":0,"rows":0,"history":true}`:           "invalid.size",
		`"view.attach","params":{"pane":"../p0","cols":80,"rows":24,"history":true}`:      "invalid.pane",
		`"pane.close","params":{"pane":""}`:                                               "invalid.params",
		`"pane.close","params":{"pane":"p00"}`:                                            "invalid.params",
		`"view.attach","params":{"pane":"p99999999999","cols":1,"rows":1,"history":true}`: "invalid.pane",
		`"pane.rename","params":{"pane":"p9","name":"x"}`:                                 "invalid.name",
		`"pane.stream","params":{"pane":"p0"}`:                                            "unsupported.verb",
		`"pane.attach","params":{"pane":"p0"}`:                                            "unsupported.verb",
		`"view.resize","params":{"pane":"p1","cols":80,"rows":24}`:                        "not_found.viewer",
		`"view.resize","params":{"pane":"p0","cols":80,"rows":0}`:                         "invalid.size",
		`"view.snapshot","params":{"pane":"p1","full":true}`:                              "not_found.viewer",
		`"view.snapshot","params":{"pane":"p0","full":true,"plain":true}`:                 "plain_replay_unsupported",
		`"view.detach","params":{"pane":"p1"}`:                                            "not_found.viewer",
		`"view.take","params":{"pane":"p1"}`:                                              "not_found.viewer",
		`"view.grant","params":{"pane":"p0","viewer":"x"}`:                                "invalid.viewer",
		`"view.grant","params":{"pane":"p0","viewer":"007"}`:                              "invalid.viewer",
		`"view.grant","params":{"pane":"p0","viewer":"99999999999999999999"}`:             "invalid.viewer",
		`"view.theme","params":` + themeParams("#ffffff", 16, "#00000g"):                  "invalid.theme",
		`"view.theme","params":` + themeParams("white", 16, "#000000"):                    "invalid.theme",
		`"view.theme","params":` + themeParams("#ffffff", 15, "#000000"):                  "invalid.theme",
		`"pair.new","params":{}`:                                                          "internal",
	} {
		h.send(`{"id":5,"verb":` + params + `}`)
		h.hearError(5, code)
	}
}

func themeParams(foreground string, n int, colour string) string {
	palette := strings.TrimSuffix(strings.Repeat(`"`+colour+`",`, n), ",")
	return fmt.Sprintf(`{"pane":"p0","foreground":%q,"background":"#000000","cursor":"#ffffff","palette":[%s]}`, foreground, palette)
}

func TestEveryVerbReachesItsAct(t *testing.T) {
	h := serve(t)
	h.hello()
	_, v := h.attach("p0")
	if v.o != (fanout.AttachOptions{Cols: 80, Rows: 24, History: true, Name: "Go"}) {
		t.Errorf("attached as %+v", v.o)
	}
	for params, act := range map[string]string{
		`"view.resize","params":{"pane":"p0","cols":90,"rows":30}`:       "resize",
		`"view.snapshot","params":{"pane":"p0","full":true}`:             "snapshot",
		`"view.snapshot","params":{"pane":"p0","plain":false}`:           "snapshot",
		`"view.request","params":{"pane":"p0"}`:                          "request",
		`"view.take","params":{"pane":"p0"}`:                             "take",
		`"view.release","params":{"pane":"p0"}`:                          "release",
		`"view.grant","params":{"pane":"p0","viewer":"7"}`:               "grant",
		`"view.deny","params":{"pane":"p0","viewer":"7"}`:                "deny",
		`"view.theme","params":` + themeParams("#ffffff", 16, "#0123ef"): "theme",
	} {
		h.send(`{"id":5,"verb":` + params + `}`)
		if got := await(t, v.acts, act); got != act {
			t.Errorf("%s did %s", params, got)
		}
		if got := h.hearOK(5); got != "{}" {
			t.Errorf("%s: %s", act, got)
		}
	}
	v.err = fmt.Errorf("resize: %w", control.ErrNotController)
	h.send(`{"id":6,"verb":"view.resize","params":{"pane":"p0","cols":90,"rows":30}}`)
	h.hearError(6, "denied.not_controller")
	h.send(`{"id":7,"verb":"view.theme","params":` + themeParams("#ffffff", 16, "#0123ef") + `}`)
	h.hearOK(7) // it counts when the viewer controls
	for err, code := range map[error]string{
		control.ErrReadOnly: "denied.read_only", control.ErrRequested: "conflict.requested", control.ErrNoRequest: "conflict.no_request",
		control.ErrNotJoined: "not_found.viewer", fanout.ErrDetached: "not_found.viewer", fanout.ErrEnded: "unavailable.ended",
		refused("own.code", "own"): "own.code", errors.New("x"): "internal",
	} {
		v.err = err
		h.send(`{"id":8,"verb":"view.request","params":{"pane":"p0"}}`)
		h.hearError(8, code)
	}
	h.send(`{"id":9,"verb":"view.detach","params":{"pane":"p0"}}`)
	h.hearOK(9)
	await(t, v.detached, "the viewer's end")
	h.send(`{"id":9,"verb":"view.detach","params":{"pane":"p0"}}`)
	h.hearError(9, "not_found.viewer")
	h.attachTo = func(*viewer) error { return fanout.ErrFull }
	h.send(`{"id":10,"verb":"view.attach","params":{"pane":"p0","cols":80,"rows":24,"history":true}}`)
	h.hearError(10, "unavailable.full")
}

func TestAPingIsAnsweredWhileARequestIsStuck(t *testing.T) {
	h := serve(t)
	h.hello()
	h.send(`{"id":5,"verb":"view.attach","params":{"pane":"p7","cols":80,"rows":24,"history":true}}`) // waits for its channel
	h.send(`{"id":6,"verb":"ping","params":{}}`)
	h.hearOK(6)
	for i := range requestsMax + 1 {
		h.send(fmt.Sprintf(`{"id":%d,"verb":"view.detach","params":{"pane":"p0"}}`, 100+i))
	}
	busy := h.hear() // one of the last: the stuck one may or may not have left the queue
	if busy.Error == nil || busy.Error.Code != "unavailable.busy" || busy.ID < 100+requestsMax {
		t.Errorf("heard %+v %v", busy, busy.Error)
	}
	h.open(paneLabel + "p7")
	h.hearOK(5)
	for i := range requestsMax {
		h.hearError(uint64(100+i), "not_found.viewer")
	}
}

func TestVerbsHoldUpNothingAndAreBounded(t *testing.T) {
	h := serve(t)
	h.hello()
	for i := range verbsMax {
		h.send(fmt.Sprintf(`{"id":%d,"verb":"pane.close","params":{"pane":"p%d"}}`, 100+i, i))
	}
	h.send(`{"id":5,"verb":"pane.list"}`)
	h.hearError(5, "unavailable.busy")
	h.send(`{"id":6,"verb":"view.detach","params":{"pane":"p0"}}`)
	h.hearError(6, "not_found.viewer")
	await(t, h.closing, "a close")
	h.hear() // of that one
	answered := make(chan said)
	go func() {
		for range verbsMax {
			answered <- h.hear()
		}
	}()
	// The answer is on its way a moment before there is room again.
	h.send(`{"id":7,"verb":"ping"}`)
	if m := await(t, answered, "the ping"); m.ID != 7 {
		t.Fatalf("heard %+v", m)
	}
	for range verbsMax - 1 {
		await(t, h.closing, "a close")
		if m := await(t, answered, "an answer"); m.ID < 100 || m.OK == nil {
			t.Errorf("heard %+v", m)
		}
	}
}

// What the control socket would say, a page hears.
func TestVerbsAreAnsweredAsOnTheControlSocket(t *testing.T) {
	h := serve(t)
	h.listed = []verbs.Pane{{ID: "p3", State: verbs.PaneRunning, Cols: 80, Rows: 24}}
	h.hello()
	h.send(`{"id":5,"verb":"pane.list"}`)
	var list verbs.PaneListResult
	if err := strictjson.Unmarshal([]byte(h.hearOK(5)), &list); err != nil || len(list.Panes) != 1 || list.Panes[0].ID != "p3" {
		t.Error(list, err)
	}
	h.send(`{"id":6,"verb":"pane.rename","params":{"pane":"p9","name":"x"}}`)
	if m := h.hear(); m.ID != 6 || m.Error == nil || m.Error.Code != "invalid.name" || m.Error.Data["param"] != "name" {
		t.Errorf("heard %+v %v", m, m.Error)
	}
	h.send(`{"id":7,"verb":"pair.new"}`)
	if m := h.hear(); m.Error == nil || m.Error.Code != "internal" || strings.Contains(m.Error.Message, "secret") {
		t.Errorf("heard %+v %v", m, m.Error)
	}
}

func TestNoRequestHasTheNameOfAVerb(t *testing.T) {
	for _, r := range own() {
		if _, both := verbs.Lookup(r.Name); both {
			t.Errorf("%s is a verb of the control socket too", r.Name)
		}
	}
}

func TestALongAnswerComesInPieces(t *testing.T) {
	h := serve(t)
	for i := range 200 {
		h.listed = append(h.listed, verbs.Pane{ID: "p" + decimal(uint64(i)), Title: strings.Repeat("é", 100)})
	}
	h.hello()
	h.send(`{"id":5,"verb":"pane.list"}`)
	var text []byte
	for seq := 0; ; seq++ {
		m := h.hear()
		piece, err := base64.RawURLEncoding.DecodeString(m.Data)
		if m.ID != 5 || m.Seq != seq || err != nil {
			t.Fatalf("heard %+v, want piece %d: %v", m, seq, err)
		}
		if text = append(text, piece...); m.Last {
			break
		}
	}
	var answer said
	var list verbs.PaneListResult
	if err := errors.Join(strictjson.Unmarshal(text, &answer), strictjson.Unmarshal(answer.OK, &list)); err != nil || len(list.Panes) != 200 || answer.ID != 5 {
		t.Errorf("%d panes of answer %d, %v", len(list.Panes), answer.ID, err)
	}
	if err := newOutbox().putAnswer(t.Context(), 5, strings.Repeat("x", answerBytesMax)); err != nil {
		t.Error(err)
	}
}

func TestARequestHasABound(t *testing.T) {
	h := serve(t)
	h.hello()
	h.send(`{"id":5,"verb":"ping","params":{}` + strings.Repeat(" ", verbs.LineBytesMax) + `}`)
	h.hearError(0, "invalid.request")
}

// A viewer may have its snapshot before the call that attached it has returned.
func TestTheAnswerComesBeforeWhatFollowsFromIt(t *testing.T) {
	h := serve(t)
	h.hello()
	var early sync.WaitGroup
	defer early.Wait()
	h.attachTo = func(v *viewer) error {
		early.Go(func() { v.sink.Snapshot(fanout.Snapshot{Cols: 80, Rows: 24, Stream: []byte("x")}) })
		v.snapshot = func() {
			early.Go(func() { v.sink.Event(fanout.HistoryGap{}) })
		}
		return nil
	}
	h.attach("p0") // wants the answer first
	if m := h.hear(); m.Event != "snapshot" {
		t.Errorf("heard %+v, want the snapshot", m)
	}
	h.send(`{"id":5,"verb":"view.snapshot","params":{"pane":"p0","full":false}}`)
	h.hearOK(5)
	if m := h.hear(); m.Event != "history_gap" {
		t.Errorf("heard %+v, want the gap", m)
	}
}

func TestASnapshotComesInPiecesAndAnswersGoBetween(t *testing.T) {
	h := serve(t)
	h.hello()
	c, v := h.attach("p0")
	go func() {
		for range 3 {
			<-c.out
		}
	}()
	output := bytes.Repeat([]byte("o"), 2*messageMax+100)
	if err := v.sink.Output(output); err != nil {
		t.Fatal(err)
	}
	stream := make([]byte, 40*pieceBytes+17)
	for i := range stream {
		stream[i] = byte(i * 31)
	}
	done := make(chan error, 1)
	go func() {
		done <- v.sink.Snapshot(fanout.Snapshot{Cols: 132, Rows: 43, Watermark: 1<<63 + 1, Stream: stream, Full: true, Epoch: 1 << 60, Offset: 77})
	}()
	var got []byte
	answered := 0
	for seq := 0; ; {
		m := h.hear()
		if m.Event == "" {
			answered++
			continue
		}
		if m.Seq != seq || string(m.Pane) != `"p0"` || (m.Cols != nil) != (seq == 0) {
			t.Fatalf("piece %d: %+v", seq, m)
		}
		if seq == 0 && (*m.Cols != 132 || m.Rows != 43 || !m.Full || m.Unavailable || m.Watermark != "9223372036854775809" || m.Epoch != "1152921504606846976" || m.Offset != 77 || m.DCOffset != uint64(len(output))) {
			t.Errorf("head %+v", m)
		}
		data, err := base64.RawURLEncoding.DecodeString(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, data...); m.Last {
			break
		}
		if seq++; seq == 20 {
			h.send(`{"id":5,"verb":"ping","params":{}}`)
		}
	}
	if answered == 0 { // the last pieces were quicker than the reader
		h.hearOK(5)
	}
	if err := <-done; err != nil || !bytes.Equal(got, stream) {
		t.Errorf("%v, %d of %d bytes", err, len(got), len(stream))
	}
	go v.sink.Snapshot(fanout.Snapshot{Cols: 80, Rows: 24, Unavailable: true})
	if m := h.hear(); !m.Last || m.Data != "" || !m.Unavailable || m.Full {
		t.Errorf("an empty snapshot: %+v", m)
	}
}

func TestWhatIsUrgentGoesFirst(t *testing.T) {
	out, ctx := newOutbox(), testContext(t)
	for range bulkMax {
		if err := out.putBulk(ctx, "bulk"); err != nil {
			t.Fatal(err)
		}
	}
	for range urgentMax {
		if err := out.putUrgent(ctx, "urgent"); err != nil {
			t.Fatal(err)
		}
	}
	full, cancel := context.WithCancel(ctx)
	cancel()
	if out.putBulk(full, "more") == nil || out.putUrgent(full, "more") == nil {
		t.Error("a full queue takes more")
	}
	c := &channel{out: make(chan []byte), closed: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- out.write(ctx, c) }()
	for i := range urgentMax + bulkMax {
		want := `"urgent"`
		if i >= urgentMax {
			want = `"bulk"`
		}
		if got := string(await(t, c.out, want)); got != want {
			t.Fatalf("message %d is %s", i, got)
		}
	}
	c.Close()
	out.putUrgent(ctx, "after")
	if err := await(t, done, "the writer's end"); err == nil {
		t.Error("the writer ended without an error")
	}
	if err := out.putUrgent(ctx, strings.Repeat("x", messageMax)); err == nil {
		t.Error("a message beyond the bound was queued")
	}
}

func TestEventsAreTold(t *testing.T) {
	h := serve(t)
	h.hello()
	_, v := h.attach("p0")
	zero := 0
	for want, e := range map[string]fanout.Event{
		`{"event":"history_wipe","pane":"p0","epoch":"9"}`:                                                                     fanout.HistoryWipe{Epoch: 9},
		`{"event":"history_gap","pane":"p0"}`:                                                                                  fanout.HistoryGap{},
		`{"event":"size","pane":"p0","cols":90,"rows":30}`:                                                                     fanout.Size{Cols: 90, Rows: 30},
		`{"event":"exit","pane":"p0","exit_code":0,"signal":""}`:                                                               fanout.Exit{Exit: wire.Exit{ExitCode: &zero}},
		`{"event":"exit","pane":"p0","exit_code":null,"signal":"SIGKILL"}`:                                                     fanout.Exit{Exit: wire.Exit{Signal: "SIGKILL"}},
		`{"event":"lost","pane":"p0"}`:                                                                                         fanout.Lost{},
		`{"event":"dropped","pane":"p0","reason":"lagging"}`:                                                                   fanout.Dropped{Reason: "lagging"},
		`{"event":"control","pane":"p0","you":true,"controller":"7","controller_name":"ab","request":null}`:                    fanout.Control{You: true, Controller: 7, ControllerName: "a\u202eb"},
		`{"event":"control","pane":"p0","you":false,"controller":"","controller_name":"","request":{"viewer":"8","name":"x"}}`: fanout.Control{Request: &fanout.ControlRequest{Viewer: 8, Name: "x"}},
	} {
		go v.sink.Event(e)
		if got := string(await(t, h.ctl.out, want)); got != want {
			t.Errorf("%T: %s, want %s", e, got, want)
		}
	}
	for _, e := range []fanout.Event{fanout.Title{Text: "x"}, fanout.Cwd{Text: "/"}, fanout.Foreground{Name: "vim"}, fanout.Removed{}} {
		if err := v.sink.Event(e); err != nil { // told by the list of panes
			t.Error(err)
		}
	}
	text := bytes.Repeat([]byte("line\r\n"), 10000)
	go v.sink.Event(fanout.HistoryDelta{Epoch: 3, Offset: 1000, Text: text})
	var got []byte
	for len(got) < len(text) {
		m := h.hear()
		if m.Event != "history_delta" || m.Epoch != "3" || m.Offset != uint64(1000+len(got)) {
			t.Fatalf("heard %+v", m)
		}
		data, _ := base64.RawURLEncoding.DecodeString(m.Data)
		got = append(got, data...)
	}
	if !bytes.Equal(got, text) {
		t.Error("the fragments are not the text")
	}
}

func TestInputReachesTheViewerOfItsChannel(t *testing.T) {
	h := serve(t)
	h.hello()
	c, v := h.attach("p0")
	for _, key := range []string{"l", "s", "\r", strings.Repeat("paste", 10000)} {
		c.in <- []byte(key)
		if got := await(t, v.typed, "a key"); got != key {
			t.Errorf("typed %.10q, want %.10q", got, key)
		}
	}
	h.send(`{"id":5,"verb":"view.detach","params":{"pane":"p0"}}`)
	h.hearOK(5)
	c.in <- []byte("to nobody")
	c.in <- []byte("still read")
}

func TestAttachWaitsForItsChannelAndNotForEver(t *testing.T) {
	h := serve(t)
	h.hello()
	h.send(`{"id":5,"verb":"view.attach","params":{"pane":"p0","cols":80,"rows":24,"history":true}}`)
	h.send(`{"id":6,"verb":"ping","params":{}}`)
	h.hearOK(6)
	h.open(paneLabel + "p0") // overtaken by the request
	h.hearOK(5)
	h.send(`{"id":7,"verb":"view.attach","params":{"pane":"p1","cols":80,"rows":24,"history":true}}`)
	h.hearError(7, "conflict.no_channel")
}

func TestARequestThatOvertakesANewChannelStillMeansThatOne(t *testing.T) {
	h := serve(t)
	h.hello()
	_, v := h.attach("p0")
	h.send(`{"id":5,"verb":"view.attach","params":{"pane":"p0","cols":80,"rows":24,"history":true}}`)
	h.send(`{"id":6,"verb":"ping","params":{}}`)
	h.hearOK(6) // the request before is being done
	second := h.open(paneLabel + "p0")
	h.hearOK(5)
	await(t, v.detached, "the first viewer's end")
	w := await(t, h.viewers, "the second viewer")
	go w.sink.Output([]byte("x"))
	if got := await(t, second.out, "output on the new channel"); string(got) != "x" {
		t.Errorf("output %q", got)
	}
}

func TestAChannelOpenedAgainTakesThePlaceOfTheFirst(t *testing.T) {
	h := serve(t)
	h.hello()
	first, v := h.attach("p0")
	second, w := h.attach("p0")
	await(t, v.detached, "the first viewer's end")
	await(t, first.closed, "the first channel's end")
	go w.sink.Output([]byte("x"))
	if got := await(t, second.out, "output"); string(got) != "x" {
		t.Errorf("output %q", got)
	}
	if err := v.sink.Output([]byte("stale")); err == nil {
		t.Error("the first viewer still writes")
	}
	second.leave()
	await(t, w.detached, "the end of a viewer whose channel the page has closed")
	await(t, second.closed, "the channel's end")
}

// An old viewer's write may be under way when a new one comes over the same channel. Its bytes must be
// in the count of the new one's snapshot, or the page would take them for what follows it.
func TestANewViewerWaitsForTheOldOnesLastByte(t *testing.T) {
	h := serve(t)
	h.hello()
	c, v := h.attach("p0")
	c.hold = make(chan struct{})
	written := make(chan error, 1)
	go func() { written <- v.sink.Output([]byte("late")) }()
	h.send(`{"id":5,"verb":"view.attach","params":{"pane":"p0","cols":80,"rows":24,"history":true}}`)
	await(t, v.detached, "the old viewer's end")
	select {
	case <-h.viewers:
		t.Error("the new viewer came while the old one was writing")
	case <-time.After(2 * reuseTime):
	}
	close(c.hold)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	h.hearOK(5)
	w := await(t, h.viewers, "the new viewer")
	go w.sink.Snapshot(fanout.Snapshot{Cols: 80, Rows: 24})
	if m := h.hear(); m.DCOffset != uint64(len("late")) {
		t.Errorf("dc_offset %d, but %d bytes were sent", m.DCOffset, len("late"))
	}
}

func TestServeEndsWithEachOfItsEnds(t *testing.T) {
	for name, end := range map[string]func(h *host){
		"control channel": func(h *host) { h.ctl.leave() },
		"oversized":       func(h *host) { h.ctl.Close() }, // what a channel does that reads too much
		"context":         func(h *host) { h.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t)
			h.hello()
			c, v := h.attach("p0")
			var stuck sync.WaitGroup
			stuck.Go(func() { v.sink.Output([]byte("to a page that does not read")) })
			h.send(`{"id":5,"verb":"pane.close","params":{"pane":"p0"}}`) // and a request that waits
			end(h)
			stuck.Wait()
			err := h.ended()
			if name != "context" && err != nil {
				t.Errorf("Serve: %v", err)
			}
			if name == "context" && !errors.Is(err, context.Canceled) {
				t.Errorf("Serve: %v", err)
			}
			await(t, v.detached, "the viewer's end")
			await(t, c.closed, "the channel's end")
			await(t, h.ctl.closed, "the control channel's end")
		})
	}
}

func TestStrangeChannelsAreClosed(t *testing.T) {
	h := serve(t)
	h.hello()
	for _, label := range []string{"spawn.host.ctl", "", ctlLabel} {
		await(t, h.open(label).closed, "the end of "+label)
	}
	h.send(`{"id":5,"verb":"ping","params":{}}`)
	h.hearOK(5)
}

func TestTheBoardGathersChanges(t *testing.T) {
	b := NewBoard()
	w := b.Watch()
	if first, err := w.Next(testContext(t)); err != nil || len(first) != 0 {
		t.Errorf("an empty board: %v, %v", first, err)
	}
	for i := range 1000 {
		b.Put(PaneInfo{ID: "p0", Title: fmt.Sprint(i)})
		b.Put(PaneInfo{ID: "p1", Index: i})
	}
	changes, _ := w.Next(testContext(t))
	if len(changes) != 2 || changes[0].Pane.Title != "999" || changes[1].Pane.Index != 999 {
		t.Errorf("changes %+v", changes)
	}
	b.Put(PaneInfo{ID: "p2"})
	b.Remove("p2") // never seen
	b.Remove("p0")
	b.Remove("p9") // never there
	if changes, _ = w.Next(testContext(t)); len(changes) != 1 || !changes[0].Removed || changes[0].Pane.ID != "p0" {
		t.Errorf("changes %+v", changes)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing new: %v", err)
	}
	later := make(chan []Change, 1)
	go func() {
		c, _ := w.Next(testContext(t))
		later <- c
	}()
	b.Put(PaneInfo{ID: "p1", Index: 5})
	if c := await(t, later, "a change"); len(c) != 1 || c[0].Pane.Index != 5 {
		t.Errorf("changes %+v", c)
	}
}

func TestNewsOfTheArrangementIsToldOnce(t *testing.T) {
	h := serve(t)
	h.board.Arranged() // before anybody looks: they ask anyway
	h.hello()
	h.board.Arranged()
	if m := h.hear(); m.Event != "arranged" {
		t.Errorf("heard %+v, want arranged", m)
	}
	w := h.board.Watch()
	if _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.board.Arranged()
	h.board.Arranged()
	changes, err := w.Next(t.Context())
	if err != nil || len(changes) != 1 || !changes[0].Arranged {
		t.Error(changes, err)
	}
}

// A page hears of every pane that it shows in its list, attached or not.
func TestWhatAsksForAttentionIsToldOnce(t *testing.T) {
	h := serve(t)
	h.board.Put(PaneInfo{ID: "p0"})
	h.board.Ring("p0") // before anybody looks: it was for those who were there
	h.hello()
	h.board.Ring("p0")
	if m := h.hear(); m.Event != "bell" {
		t.Errorf("heard %+v, want the bell of p0", m)
	}
	w := h.board.Watch()
	if _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.board.Ring("p99") // there is none
	h.board.Ring("p0")
	h.board.Ring("p0")
	h.board.Put(PaneInfo{ID: "p0", Title: "asks"}) // a change leaves it as it is
	changes, err := w.Next(t.Context())
	if err != nil || len(changes) != 2 || changes[0].Rang || !changes[1].Rang || changes[1].Pane.ID != "p0" {
		t.Error(changes, err)
	}
	h.board.Put(PaneInfo{ID: "p7"})
	h.board.Ring("p7") // new, and asks before anybody has seen it
	changes, err = w.Next(t.Context())
	if err != nil || len(changes) != 2 || !changes[1].Rang || changes[1].Pane.ID != "p7" {
		t.Error(changes, err)
	}
}

func TestAPaneThatMayNotBeSeenAsksUnheard(t *testing.T) {
	var h host
	h.hidden.Store("p1")
	s := &session{o: Options{Panes: &h}}
	for id, told := range map[string]bool{"p0": true, "p1": false, "p2": false} {
		c := Change{Pane: PaneInfo{ID: id}, Rang: true}
		if s.concerns(&c, map[string]bool{"p0": true, "p1": true}) != told {
			t.Errorf("%s is told: %t", id, !told)
		}
	}
}

// How panes are arranged that the link does not show is not told: not even that it has changed.
func TestAVisitorIsToldOfItsOwnPlaceAlone(t *testing.T) {
	for resource, told := range map[string]bool{"pane:p0": false, "session:s0": true} {
		h := serveVisit(t, &Visit{Resource: resource, Right: "read", ExpiresAt: 9})
		h.send(`{"id":1,"verb":"hello","params":{"proto":2}}`)
		if got, want := h.hearOK(1), `"visit":{"resource":"`+resource+`","right":"read","expires_at":9}}`; !strings.HasSuffix(got, want) {
			t.Errorf("hello: %s, want …%s", got, want)
		}
		for h.hear().Event != "panes_ready" {
		}
		h.board.Arranged()
		if told {
			if m := h.hear(); m.Event != "arranged" {
				t.Errorf("%s: heard %+v", resource, m)
			}
			continue
		}
		for _, id := range []string{"p0", "p1"} { // the news would come with the first, or before the second
			h.board.Put(PaneInfo{ID: id})
			if m := h.hear(); m.Event != "pane" {
				t.Errorf("%s: heard %+v", resource, m)
			}
		}
	}
}

func TestPlainTextIsPlain(t *testing.T) {
	for in, want := range map[string]string{
		"vim": "vim", "": "", "  a  b ": "a  b", "a\x00\x1b[31mb\u202e\u200d\u2066c": "a[31mbc", "a\nb\tc": "a b c", strings.Repeat("é", 20): strings.Repeat("é", 8),
		"1234567 9": "1234567", "\xffa": "a", "日本": "日本",
	} {
		got := Plain(in, 8)
		if got != want || Plain(got, 8) != got {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTheLargestMessageFits(t *testing.T) {
	out := newOutbox()
	k := &sink{pane: "p999999999", channel: &channel{}, out: out, ended: func(*sink) {}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	defer k.cancel()
	max := ^uint64(0)
	go k.Snapshot(fanout.Snapshot{Cols: 1000, Rows: 1000, Watermark: max, Epoch: max, Offset: max, Unavailable: true, Stream: make([]byte, pieceBytes)})
	if text := await(t, out.bulk, "a piece"); len(text) > messageMax || len(text) < messageMax-1500 {
		t.Errorf("a full piece has %d bytes of %d", len(text), messageMax)
	}
	// The longest pane: every character of every text escaped.
	worst := strings.Repeat(`"`, 2000)
	b := NewBoard()
	code := 1 << 32
	b.Put(PaneInfo{ID: "p999999999", Name: worst, Title: worst, Foreground: worst, Argv0: worst, Signal: worst[:32], State: PaneRunning, ExitCode: &code, Window: "w999999999"})
	p, _ := b.Get("p999999999")
	go out.putUrgent(k.ctx, PaneEvent{"pane", p})
	await(t, out.urgent, "the pane")
}
