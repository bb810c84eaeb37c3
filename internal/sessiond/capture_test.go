// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"spawn/internal/sessiond/wire"
)

func (p *peer) capture(req wire.CaptureReq) wire.Capture {
	p.t.Helper()
	p.send(wire.AppendCaptureReq(nil, req))
	c, err := wire.DecodeCapture(p.until(wire.KindCapture))
	if err != nil {
		p.t.Fatal(err)
	}
	if c.Watermark != uint64(len(p.output)) {
		p.t.Errorf("watermark %d, but %d bytes of output came", c.Watermark, len(p.output))
	}
	return c
}

// editor is a shell that prints lines, then does on the alternate screen what an editor does, and comes back.
const editor = `seq -f 'line %%g' 1 40; printf '\033]2;shell\007\033[31mred\t\033[0mend'
read x; printf '\033[?1049h\033[?1h\033[?2004h\033[?1002h\033[?1004h\033[?25l\033[2J\033[1;1H~ 世界\033[2;1H\033[7mfile\033[0m'; echo in-editor
read x; printf '\033[?1049l\033[?1l\033[?25h'; echo back; read x`

func TestCaptureOfAShellAndAnEditor(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(editor)
	p.untilOutput("end")
	before := p.capture(wire.CaptureReq{What: wire.CaptureAll, MaxRows: 1000, MaxBytes: 1 << 20, Styled: true})
	if before.Alternate || before.Title != "shell" || before.Cursor != (wire.CaptureCursor{Row: 23, Col: 11, Visible: true}) || before.Modes != (wire.CaptureModes{}) {
		t.Errorf("before: %+v", before)
	}
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprintf("line %d", i+1))
	}
	want = append(want, "red     end")
	if got := slices.Concat(before.History, before.Screen); !slices.Equal(got, want) || before.Clipped || before.Lost {
		t.Errorf("history and screen are %q", got)
	}
	if got := before.StyledScreen[23]; got != "\x1b[0;31mred\x1b[0m     end" {
		t.Errorf("the styled row is %q", got)
	}

	p.type_("\r")
	p.untilOutput("in-editor")
	shown := p.capture(wire.CaptureReq{What: wire.CaptureScreen})
	if !shown.Alternate || shown.Cursor.Visible || shown.Modes != (wire.CaptureModes{CursorKeys: true, BracketedPaste: true, Mouse: 1002, Focus: true}) {
		t.Errorf("in the editor: %+v", shown)
	}
	if shown.Screen[0] != "~ 世界" || shown.Screen[1] != "filein-editor" || len(shown.StyledScreen)+len(shown.History) != 0 {
		t.Errorf("in the editor: %q", shown.Screen)
	}
	covered := p.capture(wire.CaptureReq{What: wire.CapturePrimary})
	if !covered.Alternate || !slices.Equal(covered.Screen, append(before.Screen[1:], "")) {
		t.Errorf("below the editor: %q, want %q", covered.Screen, before.Screen)
	}

	p.type_("\r")
	p.untilOutput("back")
	after := p.capture(wire.CaptureReq{What: wire.CaptureScreen})
	if after.Alternate || !after.Cursor.Visible || !strings.Contains(strings.Join(after.Screen, "|"), "|back|") {
		t.Errorf("after: %+v", after)
	}
}

func TestCaptureKeepsTheNewestOfHistory(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`seq 1 200; printf done; read x`)
	p.untilOutput("done")
	whole := p.capture(wire.CaptureReq{What: wire.CaptureHistory, MaxRows: 1000, MaxBytes: 1 << 20})
	if len(whole.Screen) != 0 || whole.Clipped || len(whole.History) < 150 || whole.History[0] != "1" {
		t.Fatalf("%d rows of history, clipped %v", len(whole.History), whole.Clipped)
	}
	for _, req := range []wire.CaptureReq{
		{What: wire.CaptureHistory, MaxRows: 5, MaxBytes: 1 << 20},
		{What: wire.CaptureHistory, MaxRows: 1000, MaxBytes: 15},
		{What: wire.CaptureHistory, MaxRows: 5, MaxBytes: 1 << 20, Styled: true},
		{What: wire.CaptureHistory, MaxRows: 0, MaxBytes: 1 << 20},
		{What: wire.CaptureHistory, MaxRows: 1000, MaxBytes: 0},
	} {
		c := p.capture(req)
		size := len(strings.Join(c.History, "")) + len(strings.Join(c.StyledHistory, ""))
		if !c.Clipped || len(c.History) > int(req.MaxRows) || size > int(req.MaxBytes) || req.Styled != (len(c.StyledHistory) > 0) {
			t.Errorf("%+v: %d rows of %d bytes, clipped %v", req, len(c.History), size, c.Clipped)
		}
		if n := len(c.History); !slices.Equal(c.History, whole.History[len(whole.History)-n:]) {
			t.Errorf("%+v: %q are not the newest", req, c.History)
		}
	}
}

// A capture is a look: it neither moves the screen nor the history, and a replay after it is what it was before.
func TestCaptureChangesNothing(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`seq 1 100; printf '\033[?7l\033[4h\033(0qq\033]8;;http://a\033\\x\0337'; printf done; read x`)
	p.untilOutput("done")
	_, before := p.replay(everything)
	for _, what := range []string{wire.CaptureScreen, wire.CapturePrimary, wire.CaptureHistory, wire.CaptureAll} {
		p.capture(wire.CaptureReq{What: what, MaxRows: 10, MaxBytes: 1000, Styled: true})
	}
	if _, after := p.replay(everything); after != before {
		t.Errorf("a replay was\n%q\nand is\n%q", before, after)
	}
}

func TestCaptureOfALostHistoryHasNone(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	if err := tw.w.held.log.Destroy(); err != nil { // the loop is idle, and the next frame orders this before its work
		t.Fatal(err)
	}
	p.startScript(`seq 1 200; echo still-alive; read x`)
	p.untilNotice(wire.NoticeHistoryLost, "")
	p.untilOutput("still-alive")
	c := p.capture(wire.CaptureReq{What: wire.CaptureAll, MaxRows: 1000, MaxBytes: 1 << 20})
	if !c.Lost || len(c.History) != 0 || !slices.Contains(c.Screen, "still-alive") {
		t.Errorf("%+v", c)
	}
}

// Rows that would not fit a frame are left out as a whole: here those of 150,000 cells with 32 marks of four bytes each.
func TestOversizeCaptureSaysSo(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	const row = "a%s\x1b[999b\r\n"
	tw.w.screen.Resize(1000, 150) // the loop is idle, and the next frame orders this before its work
	tw.w.screen.Feed([]byte(strings.Repeat(fmt.Sprintf(row, strings.Repeat("\U000e0100", 32)), 149)))
	c := p.capture(wire.CaptureReq{What: wire.CaptureScreen, Styled: true})
	if !c.Oversize || len(c.Screen)+len(c.StyledScreen) != 0 || c.Cols != 1000 || c.Cursor.Row != 149 {
		t.Errorf("%d rows, oversize %v, cursor %+v", len(c.Screen), c.Oversize, c.Cursor)
	}
}
