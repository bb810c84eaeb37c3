// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
)

// Somebody has to answer, also when nobody looks: fish waits ten seconds for it.
func TestQueriesAreAnsweredOnceWithNobodyConnected(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	path := t.TempDir() + "/answer"
	p.startScript(`stty raw -echo; echo ready; read -r go < %s; printf '\033[5n'; head -c 4 > %s; timeout 0.5 cat >> %[2]s; echo asked; sleep 1000`, fifo(t), path)
	p.untilOutput("ready")
	p.conn.Close()
	release(t)
	again := tw.dial()
	again.replay(everything) // replaying a query must not ask it again
	again.untilOutput("asked")
	if got := readFile(t, path); got != "\x1b[0n" {
		t.Errorf("the program read %q", got)
	}
}

func TestThemeAnswersColourQueries(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.send(wire.AppendTheme(nil, wire.Theme{Foreground: "#010203", Background: "#a1b2c3", Cursor: "#ffffff"}))
	p.startScript(`stty raw -echo; printf '\033]11;?\007'; head -c 23 | tr -d '\033\007'; echo told; cat`)
	p.untilOutput("told")
	if !strings.Contains(string(p.output), "]11;rgb:a1a1/b2b2/c3c3") {
		t.Errorf("the program was told %q", p.output)
	}
}

// Reports that a program has asked for come from the worker, once each, and a replay neither repeats nor ends them.
func TestReportsOfThemeAndSizeSurviveAReattach(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	path := t.TempDir() + "/reports"
	const reports = "\x1b[48;24;80;0;0t" + "\x1b[?997;2n" + "\x1b[48;40;120;0;0t"
	p.startScript(`stty raw -echo; printf '\033[?2031;2048h'; echo ready; head -c %d > %s; echo "told at $(stty size)"; timeout 0.5 cat >> %[2]s; echo over; sleep 1000`,
		len(reports), path)
	p.untilOutput("ready")
	p.conn.Close()
	again := tw.dial()
	again.replay(everything)
	again.send(wire.AppendTheme(nil, wire.Theme{Foreground: "#000000", Background: "#ffffff", Cursor: "#000000"}))
	again.send(wire.AppendResize(nil, 120, 40))
	again.untilOutput("told at 40 120")
	again.untilOutput("over")
	if got := readFile(t, path); got != reports {
		t.Errorf("the program read %q, want %q", got, reports)
	}
}

// A program that asks and never reads its answers must not make the worker grow or wait.
func TestFloodOfQueriesIsBounded(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`stty raw -echo; i=0; while [ $i -lt 2000 ]; do i=$((i+1)); printf '\033[c\033[c\033[c\033[c\033[c\033[c\033[c\033[c\033[c\033[c'; done; echo the-end; sleep 1000`)
	p.untilOutput("the-end")
	tw.w.inbox.mu.Lock()
	defer tw.w.inbox.mu.Unlock()
	if n := len(tw.w.inbox.mu.replies); n > repliesBytesMax || n < repliesBytesMax/2 {
		t.Errorf("%d bytes of replies wait, bound %d", n, repliesBytesMax)
	}
}

func TestNoticesAreToldAndStandingOnesAgain(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`printf '\033]2;first title\007\033]7;file:///tmp\007\007\033]133;D;3\007\033]133;B\007'; read x; printf '\033]2;second title\007'; read x`)
	p.untilNotice(wire.NoticeTitle, "first title")
	p.untilNotice(wire.NoticeBell, "")
	p.type_("\r")
	tw.clock.awaitFire(t, noticeWindow)
	p.untilNotice(wire.NoticeTitle, "second title")
	again := tw.dial()
	again.untilNotice(wire.NoticeTitle, "second title")
	if n, err := wire.DecodeNotice(again.until(wire.KindNotice)); err != nil || n.Kind != wire.NoticeCwd || !strings.HasSuffix(n.Text, "/tmp") {
		t.Errorf("folder: %+v, %v", n, err)
	}
	for _, want := range []string{"D;3", "B"} {
		if n, err := wire.DecodeNotice(again.until(wire.KindNotice)); err != nil || n.Kind != wire.NoticeMark || n.Text != want {
			t.Errorf("mark: %+v, %v, want %s", n, err, want)
		}
	}
}

func TestFloodOfNoticesIsBoundedAndEndsWithTheLastTitle(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf '\033]2;title %%d\007\007\033]9;note %%d\007\033]133;A\007' $i $i; done; printf '\033]133;C\007'; echo the-end; read x`)
	p.untilOutput("the-end")
	tw.clock.awaitFire(t, noticeWindow)
	p.untilNotice(wire.NoticeTitle, "title 3000")
	p.send(wire.AppendRedraw(nil))
	p.replay(0)
	count, mark := map[string]int{}, ""
	for _, f := range p.seen {
		if f.kind == wire.KindNotice {
			n, _ := wire.DecodeNotice(f.payload)
			count[n.Kind]++
			if n.Kind == wire.NoticeMark {
				mark = n.Text
			}
		}
	}
	if mark != "C" {
		t.Errorf("the last mark told is %q", mark)
	}
	// On this clock two windows have passed.
	for kind, most := range map[string]int{wire.NoticeTitle: 2, wire.NoticeBell: 2, wire.NoticeNotification: 2 * notificationsWindowMax, wire.NoticeMark: 2 * marksWindowMax} {
		if count[kind] > most || count[kind] == 0 {
			t.Errorf("%d notices of %s, want 1 to %d", count[kind], kind, most)
		}
	}
}

func TestForegroundIsToldOnChangeAndToEachConnection(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.start([]string{"/bin/bash", "--norc", "--noprofile", "-i"})
	if name := string(p.until(wire.KindForeground)); name != "bash" {
		t.Errorf("at the prompt: %q", name)
	}
	p.untilOutput("prompt>")
	p.type_("sleep 1000\r")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); p.lastForeground() != "sleep" && time.Now().Before(deadline); <-tick.C {
		if !tw.clock.fire(foregroundEvery) { // until the shell has forked and executed
			tw.clock.fire(foregroundIdleEvery)
		}
		p.replay(0)
	}
	if last := p.lastForeground(); last != "sleep" {
		t.Errorf("during sleep: %q", last)
	}
	told := p.count(wire.KindForeground)
	for !tw.clock.fire(foregroundIdleEvery) { // where nothing moves the pace becomes slow
		tw.clock.fire(foregroundEvery)
		p.replay(0)
	}
	p.replay(0)
	if again := p.count(wire.KindForeground); again != told {
		t.Errorf("told %d times without a change", again-told)
	}
	if name := string(tw.dial().until(wire.KindForeground)); name != "sleep" {
		t.Errorf("a new connection hears %q", name)
	}
}

func (p *peer) lastForeground() (name string) {
	for _, f := range p.seen {
		if f.kind == wire.KindForeground {
			name = string(f.payload)
		}
	}
	return name
}

func (p *peer) count(kind wire.Kind) (n int) {
	for _, f := range p.seen {
		if f.kind == kind {
			n++
		}
	}
	return n
}

func TestResizeReachesProgramAndScreenOnce(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`n=0; trap 'n=$((n+1)); echo size $n $(stty size)' WINCH; echo ready; while :; do read x; done`)
	p.untilOutput("ready")
	for range 3 {
		p.send(wire.AppendResize(nil, 120, 40))
	}
	p.untilOutput("size 1 40 120")
	p.send(wire.AppendResize(nil, 80, 24))
	p.untilOutput("size 2 24 80")
	if _, stream := p.replay(0); !strings.HasPrefix(stream, "\x1b[8;24;80t") {
		t.Errorf("screen section begins with %q", stream[:min(len(stream), 20)])
	}
}

// A first-frame order test: everything a program writes comes in one piece, whatever else goes on.
func TestOutputIsExactUnderLoad(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`stty -opost; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); echo "$i"; done; exit 0`)
	for i := 0; p.count(wire.KindExit) == 0; i++ {
		p.next()
		if i%10 == 0 {
			p.send(wire.AppendResize(nil, uint16(80+i%7), 24))
			p.send(wire.AppendReplayReq(nil, 0))
		}
		p.seen = p.seen[max(0, len(p.seen)-1):]
	}
	var want strings.Builder
	for i := 1; i <= 30000; i++ {
		fmt.Fprintln(&want, i)
	}
	if string(p.output) != want.String() {
		t.Errorf("%d bytes, want %d", len(p.output), want.Len())
	}
}
