// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

const askStream = `{"id":1,"verb":"pane.stream","params":{"pane":"p1","cols":100,"rows":30,"history":true,"name":"tty"}}`

func (r *running) stream(line string) (*peer, *fakeViewer) {
	r.Helper()
	p := r.dial()
	if got := p.ask(line); got != `{"id":1,"ok":{"viewer":"5","stream":"S"}}` {
		r.Fatal(got)
	}
	return p, <-r.server.viewers
}

func TestStreamIsFramesAfterTheAnswer(t *testing.T) {
	r := run(t, nil)
	p := r.dial()
	p.say(askStream + "\n")
	v := <-r.server.viewers
	if v.o != (fanout.AttachOptions{Cols: 100, Rows: 30, History: true, Name: "tty"}) {
		t.Errorf("attached as %+v", v.o)
	}
	code := 3
	go func() { // a hub may begin before the answer is out
		_ = v.sink.Snapshot(fanout.Snapshot{Cols: 100, Rows: 30, Watermark: 9, Stream: []byte("paint"), Full: true, Epoch: 4, Offset: 2})
		_ = v.sink.Output([]byte("out"))
		for _, e := range []fanout.Event{
			fanout.HistoryDelta{Epoch: 4, Offset: 2, Text: []byte("line")}, fanout.HistoryWipe{Epoch: 5}, fanout.Size{Cols: 3, Rows: 2},
			fanout.Control{You: true, ControllerName: "tty"}, fanout.Title{Text: "T"}, fanout.Cwd{Text: "/"}, fanout.Foreground{Name: "vi"},
			fanout.Exit{Exit: wire.Exit{ExitCode: &code}}, fanout.Lost{}, fanout.Removed{},
		} {
			if err := v.sink.Event(e); err != nil {
				t.Error(err)
			}
		}
	}()
	if got := p.hear(); got != `{"id":1,"ok":{"viewer":"5","stream":"S"}}` {
		t.Fatal(got)
	}
	kinds, payloads := p.frames(13)
	var got []string
	for i := range kinds {
		got = append(got, fmt.Sprintf("%v %q", kinds[i], payloads[i]))
	}
	want := []string{
		`REPLAY "\t\x00\x00\x00\x00\x00\x00\x00paint"`,
		`HISTORY "\x04\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"`,
		`OUTPUT "out"`,
		`HISTORY "\x04\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00line"`,
		`HISTORY_WIPE "\x05\x00\x00\x00\x00\x00\x00\x00"`,
		`NOTICE "{\"kind\":\"size\",\"cols\":3,\"rows\":2}"`,
		`NOTICE "{\"kind\":\"control\",\"text\":\"tty\",\"mine\":true}"`,
		`NOTICE "{\"kind\":\"title\",\"text\":\"T\"}"`,
		`NOTICE "{\"kind\":\"cwd\",\"text\":\"/\"}"`,
		`FOREGROUND "vi"`,
		`EXIT "{\"exit_code\":3}"`,
		`NOTICE "{\"kind\":\"detached\",\"text\":\"lost\"}"`,
		`NOTICE "{\"kind\":\"detached\",\"text\":\"pane_removed\"}"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFramesOfThePeerReachTheViewer(t *testing.T) {
	p, v := run(t, nil).stream(askStream)
	p.send(wire.AppendInput(nil, []byte("ls\r")))
	p.send(wire.AppendResize(nil, 90, 20)) // refused by control, and goes on
	p.send(wire.AppendReplayReq(nil, 0))
	p.send(wire.AppendReplayReq(nil, 1<<20))
	for _, want := range []string{"input ls\r", "resize", "snapshot screen", "snapshot full"} {
		if got := <-v.did; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	_ = p.u.Close()
	<-v.detached
}

func TestAHubThatEndsBeforeTheAnswerEndsTheConnectionAfterIt(t *testing.T) {
	p, v := run(t, nil).stream(strings.Replace(askStream, "p1", "p3", 1))
	if _, err := p.r.ReadByte(); err == nil {
		t.Error("the connection goes on")
	}
	<-v.detached
}

// What was typed before the peer closed is typed, although it can't be told anything any more.
func TestLastInputIsNotLost(t *testing.T) {
	p, v := run(t, nil).stream(askStream)
	if err := p.u.CloseRead(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := v.sink.Output([]byte("x")); err != nil {
			t.Errorf("output: %v", err)
		}
	}
	p.send(wire.AppendInput(nil, []byte("last")))
	if got := <-v.did; got != "input last" {
		t.Error(got)
	}
	_ = p.u.Close()
	<-v.detached
}

func TestTakeAsksForControlAtOnce(t *testing.T) {
	r := run(t, nil)
	_, v := r.stream(`{"id":1,"verb":"pane.stream","params":{"pane":"p1","take":true}}`)
	if got := <-v.did; got != "take" || !v.o.Screen {
		t.Errorf("%q, attached as %+v", got, v.o)
	}
	if got := r.dial().ask(`{"id":1,"verb":"pane.stream","params":{"pane":"p1","take":true,"read_only":true}}`); !strings.Contains(got, "invalid.params") {
		t.Error(got)
	}
}

func TestAMarkIsPassedOnAndTheAnswerSaysWhetherItCounted(t *testing.T) {
	r := run(t, nil)
	ask := func(resume string) string {
		return r.dial().ask(`{"id":1,"verb":"pane.stream","params":{"pane":"p1","history":true,"resume":` + resume + `}}`)
	}
	if got := ask(`{"stream":"S","position":"18446744073709551615","epoch":"18446744073709551614","offset":"3"}`); got != `{"id":1,"ok":{"viewer":"5","stream":"S","resumed":true}}` {
		t.Error(got)
	}
	if v := <-r.server.viewers; v.o.Resume != (fanout.Mark{Stream: "S", Position: 1<<64 - 1, Epoch: 1<<64 - 2, Offset: 3}) {
		t.Errorf("attached as %+v", v.o)
	}
	if got := ask(`{"stream":"another","position":"1"}`); got != `{"id":1,"ok":{"viewer":"5","stream":"S"}}` {
		t.Error(got)
	}
	for _, wrong := range []string{`{"stream":"S","position":1}`, `{"stream":"S","position":"-1"}`, `{"stream":"S","at":"1"}`, `{"stream":"` + strings.Repeat("x", 65) + `"}`} {
		if got := ask(wrong); !strings.Contains(got, "invalid.params") {
			t.Errorf("%.40s: %s", wrong, got)
		}
	}
}

// A viewer that resumes needs no frame that says so: the answer has.
func TestResumedStreamBeginsWithOutput(t *testing.T) {
	p, v := run(t, nil).stream(askStream)
	if err := errors.Join(v.sink.Event(fanout.Resumed{Position: 9}), v.sink.Output([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	if kinds, payloads := p.frames(1); kinds[0] != wire.KindOutput || payloads[0] != "x" {
		t.Errorf("%v %q", kinds, payloads)
	}
}

func TestOnlyAFreePaneHasNoControllersName(t *testing.T) {
	for want, e := range map[string]fanout.Control{"": {}, "viewer 3": {Controller: 3}, "tty": {Controller: 3, ControllerName: "tty"}} {
		if got := controllerName(e); got != want {
			t.Errorf("%+v: %q", e, got)
		}
	}
}

func TestRefusedInputIsNoError(t *testing.T) {
	for _, refusal := range []error{control.ErrNotController, control.ErrReadOnly} {
		p, v := run(t, nil).stream(askStream)
		v.refuse = refusal
		p.send(wire.AppendInput(nil, []byte("x")))
		p.send(wire.AppendReplayReq(nil, 0))
		if got := <-v.did; got != "snapshot screen" {
			t.Error(got)
		}
	}
}

func TestOtherFramesEndTheStream(t *testing.T) {
	start, err := wire.AppendStart(nil, wire.Start{Argv: []string{"sh"}, Cwd: "/", Env: nil, Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	sub, _ := wire.AppendHistorySub(nil, true)
	out, _ := wire.AppendOutput(nil, []byte("x"))
	for name, frame := range map[string][]byte{
		"start": start, "history sub": sub, "a frame of the other direction": out, "unknown": {0, 0, 0, 0, 0x7f}, "too large": {1, 0, 1, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, v := run(t, nil).stream(askStream)
			p.send(frame, nil)
			<-v.detached
			if _, err := p.r.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
		})
	}
}

// A drop and the gap that comes with it are healed by one snapshot, a gap alone by one too.
func TestGapsAreHealedByOneSnapshot(t *testing.T) {
	_, v := run(t, nil).stream(askStream)
	heard := func(want ...string) {
		t.Helper()
		for _, w := range want {
			if got := <-v.did; got != w {
				t.Errorf("%q, want %q", got, w)
			}
		}
		select {
		case extra := <-v.did:
			t.Errorf("and %q", extra)
		default:
		}
	}
	tell := func(e fanout.Event) {
		t.Helper()
		if err := v.sink.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	tell(fanout.Dropped{Reason: fanout.ReasonLagging})
	tell(fanout.HistoryGap{})
	heard("snapshot full")
	tell(fanout.Dropped{Reason: fanout.ReasonLagging}) // again, before the snapshot got through
	tell(fanout.HistoryGap{})
	heard("snapshot full")
	if err := v.sink.Snapshot(fanout.Snapshot{Cols: 1, Rows: 1}); err != nil {
		t.Fatal(err)
	}
	tell(fanout.HistoryGap{})
	heard("snapshot full")
}

func TestUnavailableHistoryIsSaid(t *testing.T) {
	p, v := run(t, nil).stream(askStream)
	if err := v.sink.Snapshot(fanout.Snapshot{Cols: 1, Rows: 1, Unavailable: true}); err != nil {
		t.Fatal(err)
	}
	kinds, payloads := p.frames(2)
	if kinds[0] != wire.KindNotice || payloads[0] != `{"kind":"history_lost"}` || kinds[1] != wire.KindReplay {
		t.Errorf("%v %q", kinds, payloads)
	}
}

// What is given promptly goes whole, and only to a peer that has read all before it.
func TestPromptOutputNeverWaits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a peer has not read")
	}
	p, v := run(t, nil).stream(askStream)
	prompt := v.sink.(fanout.PromptSink)
	if err := v.sink.Output([]byte("one")); err != nil {
		t.Fatal(err)
	}
	if prompt.Prompt([]byte("early")) {
		t.Fatal("taken although the peer has not read")
	}
	if _, payloads := p.frames(1); payloads[0] != "one" {
		t.Fatalf("%q", payloads)
	}
	if !prompt.Prompt([]byte("two")) {
		t.Fatal("refused although the peer has read all")
	}
	if err := v.sink.Output([]byte("three")); err != nil {
		t.Fatal(err)
	}
	if _, payloads := p.frames(2); payloads[0] != "two" || payloads[1] != "three" {
		t.Errorf("%q", payloads)
	}
	if kept := v.sink.(*stream).short; bytes.Contains(kept[:cap(kept)], []byte("two")) {
		t.Error("the text lingers")
	}
}

func TestAHubThatEndsEndsTheConnection(t *testing.T) {
	p, v := run(t, nil).stream(askStream)
	v.sink.Close()
	if _, err := p.r.ReadByte(); err == nil {
		t.Error("the connection goes on")
	}
	<-v.detached
}
