// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"spawn/internal/chance"
	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/wire"
)

func TestWatermarkCountsExactlyTheOutputBefore(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(`i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "line $i with some more text in it"; done; echo the-end`)
	for i := 0; !strings.Contains(string(p.output[max(0, len(p.output)-100):]), "the-end"); i++ {
		p.next()
		if i%50 == 0 {
			if watermark, _ := p.replay(uint32(i % 100 * 1000)); watermark != uint64(len(p.output)) {
				t.Fatalf("watermark %d after %d bytes of OUTPUT", watermark, len(p.output))
			}
		}
	}
	p.exit()
	if watermark, _ := p.replay(everything); watermark != uint64(len(p.output)) {
		t.Fatalf("watermark %d after %d bytes of OUTPUT in all", watermark, len(p.output))
	}
}

func TestHistoryFramesAreWhatAReplayHolds(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.send(wire.AppendHistorySub(nil, true))
	p.startScript(`i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "line $i"; done; echo the-end; read x; seq 1 50; read x`)
	for i := 0; ; i++ {
		p.next()
		if i%20 == 0 {
			_, stream := p.replay(everything)
			if history, _ := splitReplay(t, stream); history != string(p.history) {
				t.Fatalf("replay holds %d bytes, frames before it held %d", len(history), len(p.history))
			}
		}
		if strings.Contains(string(tail(p.output)), "the-end") {
			break
		}
	}
	if !p.anchor || p.epoch != p.hello.Epoch || len(p.history) == 0 {
		t.Fatalf("anchor %v, epoch %d, %d bytes", p.anchor, p.epoch, len(p.history))
	}
	requireResumedHistory(t, tw, p)
}

// requireResumedHistory attaches again and requires the anchor to stand where the old connection's books ended.
func requireResumedHistory(t *testing.T, tw *testWorker, old *peer) {
	t.Helper()
	p := tw.dial()
	if p.hello.Offset != old.offset || p.hello.Epoch != old.epoch {
		t.Fatalf("HELLO anchors at %d/%d, want %d/%d", p.hello.Epoch, p.hello.Offset, old.epoch, old.offset)
	}
	p.send(wire.AppendHistorySub(nil, true))
	p.until(wire.KindHistory)
	if p.offset != old.offset || p.epoch != old.epoch {
		t.Fatalf("anchor at %d/%d", p.epoch, p.offset)
	}
	p.type_("\r")
	p.untilOutput("50\r\n")
	_, stream := p.replay(everything)
	if history, _ := splitReplay(t, stream); history != string(old.history)+string(p.history) {
		t.Fatal("history of both connections is not the replay's")
	}
	p.send(wire.AppendHistorySub(nil, false))
	p.type_("\r")
	p.exit()
}

func TestScrollbackWipeErasesReplayedHistory(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.send(wire.AppendHistorySub(nil, true))
	p.startScript(`seq 1 100 | sed s/^/secret-/; printf '\033[2J\033[3J\033[H'; seq 1 100 | sed s/^/fresh-/; echo the-end; read x`)
	p.untilOutput("the-end")
	watermark, stream := p.replay(everything)
	if strings.Contains(stream, "secret") {
		t.Error("the wiped history is replayed")
	}
	if !strings.Contains(stream, "fresh-1\r\n") || watermark != uint64(len(p.output)) {
		t.Errorf("history after the wipe: %q", tail([]byte(stream)))
	}
	if history, _ := splitReplay(t, stream); history != string(p.history) || p.epoch != p.hello.Epoch+1 {
		t.Errorf("epoch %d after %d; frames hold %d bytes, replay %d", p.epoch, p.hello.Epoch, len(p.history), len(history))
	}
}

// Rotating segments is a matter of storage: the program is not signalled, resized or asked to draw. However the lines are
// gathered into records, they are more than the log may hold.
func TestScrollbackRotationMustNotDisturbTheAgent(t *testing.T) {
	tw := launch(t, smallSegments)
	p := tw.dial()
	p.startScript(`trap 'echo DISTURBED' WINCH HUP USR1 USR2 CONT; i=0; while [ $i -lt 12000 ]; do i=$((i+1)); echo "line $i"; done; stty size; echo the-end; read x`)
	p.untilOutput("the-end")
	if out := string(p.output); strings.Contains(out, "DISTURBED") || !strings.Contains(out, "24 80\r\n") {
		t.Error("the program was disturbed")
	}
	if s := tw.w.history.log.Stats(); s.FirstSeq == 1 {
		t.Errorf("nothing was rotated away: %+v", s)
	}
	_, stream := p.replay(everything)
	history, _ := splitReplay(t, stream)
	requireConsecutive(t, history)
}

func smallSegments(c *Config) { c.SegmentBytes, c.MaxLogBytes = 8<<10, 256<<10 }

// requireConsecutive checks that history is an unbroken run of numbered lines up to a late one.
func requireConsecutive(t *testing.T, history string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(history, "\r\n", "\n")), "\n")
	var first, n int
	if _, err := fmt.Sscanf(plain(lines[0]), "line %d", &first); err != nil || len(lines) < 100 {
		t.Fatalf("history begins with %q, %d lines", lines[0], len(lines))
	}
	for i, line := range lines {
		if fmt.Sscanf(plain(line), "line %d", &n); n != first+i {
			t.Fatalf("line %d of the history is %q, want number %d", i, line, first+i)
		}
	}
	if n < 11900 {
		t.Errorf("history ends at line %d", n)
	}
}

// plain removes SGR sequences.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == 0x1b {
			for i++; i < len(s) && s[i] != 'm'; i++ {
			}
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// quiet is a Sink for a second emulator.
type quiet struct{}

func (quiet) History([]byte)                     {}
func (quiet) Wipe()                              {}
func (quiet) Reply([]byte)                       {}
func (quiet) Notice(emulator.NoticeKind, string) {}

func TestReplayReconstructsTheLiveScreenAcrossRotations(t *testing.T) {
	tw := launch(t, smallSegments)
	p := tw.dial()
	seed := chance.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	p.startScript(`stty raw -echo; echo ready; exec cat`)
	p.untilOutput("ready")
	for round := range 24 {
		p.type_(drawing(random))
		p.type_(fmt.Sprintf("<round-%d>", round))
		p.untilOutput(fmt.Sprintf("<round-%d>", round))
		live := emulator.New(80, 24, quiet{})
		live.Feed(p.output)
		for _, maxBytes := range []uint32{0, everything} {
			_, stream := p.replay(maxBytes)
			seeded := emulator.New(80, 24, quiet{})
			seeded.Feed([]byte(stream))
			if !reflect.DeepEqual(live.State(), seeded.State()) {
				t.Fatalf("seed %d, round %d, %d bytes: replay shows another screen\nlive   %q\nseeded %q", seed, round, maxBytes,
					live.AppendRepaint(nil), seeded.AppendRepaint(nil))
			}
		}
	}
	if s := tw.w.history.log.Stats(); s.FirstSeq == 1 {
		t.Errorf("nothing was rotated away: %+v", s)
	}
}

// drawing is a few thousand bytes of what programs do to a screen.
func drawing(random *rand.Rand) string {
	var b strings.Builder
	for b.Len() < 12<<10 {
		switch random.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "\x1b[%d;%dH", 1+random.IntN(24), 1+random.IntN(80))
		case 1:
			fmt.Fprintf(&b, "\x1b[%d;38;5;%dm", random.IntN(8), random.IntN(256))
		case 2:
			fmt.Fprintf(&b, "\x1b[%d%c", random.IntN(5), "ABCDLMPSTX@"[random.IntN(11)])
		case 3:
			fmt.Fprintf(&b, "\x1b[%d%c", random.IntN(3), "JK"[random.IntN(2)])
		case 4:
			b.WriteString([]string{"\x1b7", "\x1b8", "\x1b[?7l", "\x1b[?7h", "\x1b[?25l", "\x1b[?25h", "漢字", "é\u0301"}[random.IntN(8)])
		default:
			fmt.Fprintf(&b, "text %d of the flow\r\n", random.IntN(1000000))
		}
	}
	return b.String()
}
