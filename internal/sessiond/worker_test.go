// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"strings"
	"testing"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/wire"
)

const everything = 8 << 20

func TestReattachReplaysInitialOutputAndEcho(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`echo first-words; while read -r line; do echo "got<$line>"; done`)
	p.untilOutput("first-words")
	p.type_("hello\r")
	p.untilOutput("got<hello>")
	p.conn.Close()

	again := tw.dial()
	watermark, stream := again.replay(everything)
	for _, want := range []string{"first-words", "hello", "got<hello>"} {
		if strings.Count(stream, want) == 0 {
			t.Errorf("replay lacks %q: %q", want, stream)
		}
	}
	if watermark != uint64(len(p.output)) {
		t.Errorf("watermark %d, but %d bytes of output came", watermark, len(p.output))
	}
	again.type_("more\r")
	again.untilOutput("got<more>")
}

func TestCountsThatWouldFreezeAViewerLeaveSmaller(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`printf 'x\033[50000000b'; printf 'done\n'; read y`)
	p.untilOutput("done")
	if strings.Contains(string(p.output), "50000000b") {
		t.Errorf("the count reaches viewers: %q", p.output)
	}
	watermark, _ := tw.dial().replay(everything)
	if watermark != uint64(len(p.output)) {
		t.Errorf("watermark %d, but %d bytes of output came", watermark, len(p.output))
	}
}

func TestCountsThatTheSizeOfStartShowsLeaveAsTheyAre(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startSized(200, 60, []string{"/bin/sh", "-c", `printf '\033[59L\033[59M\033[199Ix\033[11000bdone'; read y`})
	p.untilOutput("done")
	if want := "\x1b[59L\x1b[59M\x1b[199Ix\x1b[11000bdone"; string(p.output) != want {
		t.Errorf("output %q, want %q", p.output, want)
	}
}

func TestHelloIsTrueInEachState(t *testing.T) {
	tw := launch(t)
	waiting := tw.dial()
	if h := waiting.hello; h.State != wire.StateWaiting || h.PID != 0 || h.Cols != 80 || h.Rows != 24 || h.SessionID != tw.id.String() ||
		h.StartedAt != tw.clock.Now().UnixMilli() || !h.History || h.Offset != 0 {
		t.Errorf("before start: %+v", h)
	}
	waiting.startScript(`seq 1 100; echo running; read x; exit 5`)
	waiting.send(wire.AppendResize(nil, 100, 30))
	waiting.untilOutput("running")
	history, _ := splitReplay(t, second(waiting.replay(everything)))

	running := tw.dial()
	if h := running.hello; h.State != wire.StateRunning || h.PID == 0 || h.Cols != 100 || h.Rows != 30 ||
		h.Offset != uint64(len(history)) || h.Epoch != waiting.hello.Epoch || h.InstanceID != waiting.hello.InstanceID {
		t.Errorf("running: %+v, history of %d bytes", h, len(history))
	}
	running.type_("\r")
	running.exit()

	exited := tw.dial()
	if h := exited.hello; h.State != wire.StateExited || h.PID != 0 || h.Cols != 100 {
		t.Errorf("exited: %+v", h)
	}
	if e := exited.exit(); e.ExitCode == nil || *e.ExitCode != 5 {
		t.Errorf("EXIT %+v", e)
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestConnectionEndsAtProtocolErrors(t *testing.T) {
	for name, send := range map[string]func(p *peer){
		"second START": func(p *peer) {
			p.startScript("cat")
			p.startScript("cat")
		},
		"INPUT before START":       func(p *peer) { p.type_("x") },
		"capture of nothing":       func(p *peer) { p.send([]byte{2, 0, 0, 0, byte(wire.KindCaptureReq), '{', '}'}, nil) },
		"frame of the other side":  func(p *peer) { p.send(wire.AppendOutput(nil, []byte("x"))) },
		"unknown kind":             func(p *peer) { p.send([]byte{0, 0, 0, 0, 0x7f}, nil) },
		"size 0":                   func(p *peer) { p.send([]byte{4, 0, 0, 0, byte(wire.KindResize), 0, 0, 24, 0}, nil) },
		"RESIZE of a wrong length": func(p *peer) { p.send([]byte{5, 0, 0, 0, byte(wire.KindResize), 1, 0, 1, 0, 0}, nil) },
		"START that is no JSON":    func(p *peer) { p.send([]byte{2, 0, 0, 0, byte(wire.KindStart), 'h', 'i'}, nil) },
		"length of 4 GiB":          func(p *peer) { p.send([]byte{255, 255, 255, 255, byte(wire.KindInput)}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			tw := launch(t)
			p := tw.dial()
			send(p)
			p.requireEnd()
			tw.dial() // and the worker serves the next
		})
	}
}

func TestProgramThatCannotStartIsToldAndIsNoSuccess(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.start([]string{"/no/such/program", "secret-argument"})
	e := p.exit()
	if e.ExitCode != nil || e.Signal != "" {
		t.Errorf("EXIT claims %+v", e)
	}
	if out := string(p.output); !strings.Contains(out, "cannot start") || strings.Contains(out, "secret") {
		t.Errorf("told %q", out)
	}
	p.type_("typed into nothing") // is dropped and does not end the connection
	if _, stream := p.replay(0); !strings.Contains(stream, "cannot start") {
		t.Errorf("screen %q", stream)
	}
	if h := tw.dial().hello; h.State != wire.StateExited {
		t.Errorf("state %s", h.State)
	}
}

func TestExitCarriesTheProgramsOwnStatus(t *testing.T) {
	for script, want := range map[string]string{"exit 0": "0", "exit 42": "42", "kill -9 $$": "SIGKILL", "kill -TERM $$": "SIGTERM"} {
		tw := launch(t)
		p := tw.dial()
		p.startScript("echo last words; %s", script)
		e := p.exit()
		got := e.Signal
		if e.ExitCode != nil {
			got = string(rune('0'+*e.ExitCode/10)) + string(rune('0'+*e.ExitCode%10))
			got = strings.TrimPrefix(got, "0")
		}
		if got != want {
			t.Errorf("%s: %+v", script, e)
		}
		if !strings.Contains(string(p.output), "last words") {
			t.Errorf("%s: output after EXIT or lost: %q", script, p.output)
		}
	}
}

func TestWorkerThatIsNeverStartedEnds(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	tw.clock.awaitFire(t, lifecycle.StartTimeout)
	p.requireEnd()
	tw.await()
}

func TestStartDisarmsItsTimer(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript("echo on; cat")
	p.untilOutput("on")
	if tw.clock.fire(lifecycle.StartTimeout) {
		t.Fatal("the START timer is still armed")
	}
}

func TestLingerResendsExitAndEnds(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript("exit 3")
	p.exit()
	p.conn.Close()
	for range 3 {
		if e := tw.dial().exit(); e.ExitCode == nil || *e.ExitCode != 3 {
			t.Fatalf("EXIT again: %+v", e)
		}
	}
	last := tw.dial()
	last.exit()
	if ack := tw.signal(last, endpoint.SignalTERM); ack != endpoint.AckGone {
		t.Errorf("TERM after the end: %v", ack)
	}
	if _, stream := last.replay(everything); stream == "" {
		t.Error("no replay while lingering")
	}
	tw.clock.awaitFire(t, lifecycle.ExitLinger)
	last.requireEnd()
	tw.await()
}

func TestKillEndsTheLingerAtOnce(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript("exit 3")
	p.exit()
	if ack := tw.signal(p, endpoint.SignalKILL); ack != endpoint.AckGone {
		t.Errorf("KILL after the end: %v", ack)
	}
	p.requireEnd()
	tw.await()
}

func TestSignalBeforeStartEndsTheWorker(t *testing.T) {
	for _, s := range []endpoint.Signal{endpoint.SignalTERM, endpoint.SignalKILL} {
		tw := launch(t)
		p := tw.dial()
		if ack := tw.signal(p, s); ack != endpoint.AckGone {
			t.Errorf("%v before start: %v", s, ack)
		}
		p.requireEnd()
		tw.await()
	}
}

func TestTermAndKillPassWhileInputIsStuck(t *testing.T) {
	for _, s := range []endpoint.Signal{endpoint.SignalTERM, endpoint.SignalKILL} {
		tw := launch(t)
		p := tw.dial()
		p.startScript("stty raw -echo; echo ready; exec sleep 1000")
		p.untilOutput("ready")
		full := wire.InputMax
		stuck, _ := wire.AppendInput(nil, make([]byte, full))
		for range 3 * inputBytesMax / full { // far more than anybody takes; the rest of the peer goes on
			p.conn.SetWriteDeadline(tw.soon())
			if _, err := p.conn.Write(stuck); err != nil {
				break
			}
		}
		if ack := tw.signal(p, s); ack != endpoint.AckDelivered {
			t.Fatalf("%v: %v", s, ack)
		}
		if e := p.exit(); e.Signal != "SIG"+s.String() {
			t.Errorf("%v: EXIT %+v", s, e)
		}
	}
}

func TestOrderedEndHangsUpAnInteractiveShell(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.start([]string{"/bin/bash", "--norc", "--noprofile", "-i"}) // ignores TERM
	p.untilOutput("prompt>")
	tw.stop()
	awaitNoProgress(t, tw.pid()) // bash forgets a HUP that comes while it handles a TERM
	tw.clock.awaitFire(t, graceMax)
	if e := p.exit(); e.Signal != "SIGHUP" {
		t.Errorf("EXIT %+v", e)
	}
	p.requireEnd()
	tw.await()
}

func TestOrderedEndKillsWhatIgnoresIt(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript("trap '' TERM HUP; echo ready; while :; do read x; done")
	p.untilOutput("ready")
	tw.stop()
	tw.clock.awaitFire(t, graceMax)
	tw.clock.awaitFire(t, graceMax)
	if e := p.exit(); e.Signal != "SIGKILL" {
		t.Errorf("EXIT %+v", e)
	}
	tw.await()
}

func TestBackgroundJobDoesNotKeepTheSessionAlive(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript("trap '' HUP; sleep 3 & echo started; exit 0")
	if e := p.exit(); e.ExitCode == nil || *e.ExitCode != 0 {
		t.Errorf("EXIT %+v", e)
	}
}
