// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
	"spawn/internal/unmet"
)

const (
	programCols, programRows = 100, 30
	momentsEach              = 50
	// momentsLeast is how many a program must live through. It may end of a fault of its own before the last, as tmux 3.3a does
	// when panes in copy mode get small; what it leaves on the screen is shown all the same.
	momentsLeast = 10
	keyPauseMax  = 60 * time.Millisecond
)

// program is something real that people keep open, and keys that make it paint.
type program struct {
	name string
	argv []string
	keys []string
}

var programs = []program{
	{"vim", []string{"vim", "-u", "NONE", "-N", "-c", "syntax on", "TEXT"},
		[]string{"j", "\x06", "\x02", "G", "gg", "ihello wörld 世界\x1b", "dd", "u", ":split\r", "\x17w", ":set nu!\r", "/line\r", "n", "vjj\x1b", ":vsplit\r", ":only\r", ">>"}},
	{"less", []string{"less", "-R", "TEXT"}, []string{" ", "b", "j", "k", "G", "g", "/7\r", "n", "d", "u", "-S\r", "\x1b[C", "\x1b[D"}},
	{"top", []string{"top", "-d", "0.3"}, []string{"1", "m", "t", "z", "c", "M", "P", "V", "x"}},
	{"htop", []string{"htop", "-d", "3"}, []string{"\x1b[B", "\x1b[A", "t", "H", "\x1bOS", "\x1b", "I", "\x1b[6~"}},
	{"tmux", []string{"tmux", "-L", "SOCKET", "-f", "/dev/null", "new", "sh"},
		[]string{"ls -l /\r", "\x02\"", "\x02%", "\x02o", "seq 1 60\r", "\x02[", "q", "\x02z", "printf '\\033[1;31mred\\033[0m\\n'\r", "\x02 "}},
}

// moment is a snapshot and what had been written before it.
type moment struct {
	raw    int // bytes of the recording
	replay []byte
}

// Real programs on a real PTY: at random moments the replay, painted into a fresh emulator and into
// xterm.js, is the live screen.
func TestReplayEqualsTheLiveScreenOfRealPrograms(t *testing.T) {
	seed := rig.Seed(t)
	h := rig.NewHost(t)
	d := h.Serve()
	for i, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			if _, err := exec.LookPath(p.argv[0]); err != nil {
				unmet.Skip(t, "%s is not installed", p.argv[0])
			}
			raw, moments := play(t, h, p, rand.New(rand.NewPCG(seed, uint64(i))))
			compareOurs(t, raw, moments)
			compareOracle(t, raw, moments)
		})
	}
	// The server of tmux is a daemon of its own, which no terminal's end may take along.
	_ = exec.Command("tmux", "-L", filepath.Base(h.Dir), "kill-server").Run()
	h.CloseAll()
	d.Stop()
	h.AwaitNothingLeft()
}

// play starts the program once a viewer is there to record it from its first byte, then types and takes
// snapshots. A REPLAY comes in order with the output, so what was recorded before it is what it must show.
func play(t *testing.T, h *rig.Host, p program, random *rand.Rand) ([]byte, []moment) {
	t.Helper()
	text := filepath.Join(h.Dir, "text")
	if err := os.WriteFile(text, sampleText(), 0o600); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("TEXT", text, "SOCKET", filepath.Base(h.Dir))
	args := []string{"sh", "-c", `stty -echo; read go; stty echo; exec "$@"`, "sh"}
	for _, a := range p.argv {
		args = append(args, words.Replace(a))
	}
	pane := h.NewPane(verbs.PaneNewParams{Argv: args, Cwd: h.Dir, Cols: programCols, Rows: programRows})
	stream, _, err := h.Socket().Stream(t.Context(), verbs.PaneStreamParams{Pane: pane.ID, Cols: programCols, Rows: programRows})
	if err != nil {
		t.Fatal(err)
	}
	typed := make(chan error, 1)
	shown := make(chan struct{}, 1)
	go func() { typed <- typeAndLook(stream, p, random, shown) }()
	raw, moments := record(t, stream, shown)
	if err := <-typed; err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()
	return raw, moments
}

// typeAndLook asks for a snapshot only when the one before has come: two open requests of one viewer get one
// answer.
func typeAndLook(s *dial.Stream, p program, random *rand.Rand, shown <-chan struct{}) error {
	<-shown
	if err := s.Input([]byte("\r")); err != nil {
		return err
	}
	for range momentsEach {
		rig.Pause(random, keyPauseMax)
		for range random.IntN(3) {
			if err := s.Input([]byte(p.keys[random.IntN(len(p.keys))])); err != nil {
				return err
			}
			rig.Pause(random, keyPauseMax)
		}
		if err := s.RequestReplay(0); err != nil {
			return err
		}
		<-shown
	}
	return nil
}

// record gathers output and snapshots until all moments are there. The first snapshot, of the empty
// screen, is where the recording begins.
func record(t *testing.T, s *dial.Stream, shown chan<- struct{}) ([]byte, []moment) {
	t.Helper()
	var raw []byte
	var moments []moment
	begun := false
	for len(moments) < momentsEach {
		k, payload, err := s.Recv()
		if err != nil {
			t.Fatalf("the program ended after %d moments: %v", len(moments), err)
		}
		switch k {
		case wire.KindOutput:
			raw = append(raw, payload...)
		case wire.KindReplay:
			_, stream, err := wire.DecodeReplay(payload)
			if err != nil {
				t.Fatal(err)
			}
			if begun {
				moments = append(moments, moment{len(raw), bytes.Clone(stream)})
			}
			begun = true
			shown <- struct{}{}
		case wire.KindExit:
			if len(moments) < momentsLeast {
				t.Fatalf("the program ended after %d moments", len(moments))
			}
		}
	}
	return raw, moments
}

type silent struct{}

func (silent) History([]byte)                     {}
func (silent) Wipe()                              {}
func (silent) Reply([]byte)                       {}
func (silent) Notice(emulator.NoticeKind, string) {}

func compareOurs(t *testing.T, raw []byte, moments []moment) {
	t.Helper()
	live := emulator.New(programCols, programRows, silent{})
	fed := 0
	for i, m := range moments {
		live.Feed(raw[fed:m.raw])
		fed = m.raw
		shown := emulator.New(programCols, programRows, silent{})
		shown.Feed(m.replay)
		if want, got := live.State(), shown.State(); !reflect.DeepEqual(want, got) {
			t.Fatalf("moment %d, after %d bytes: the replay shows another state than the live screen\n%s", i, m.raw, firstDifference(want, got))
		}
	}
}

// firstDifference shows the first line that differs, or says that something beside the cells does.
func firstDifference(want, got emulator.State) string {
	for _, screen := range []struct {
		name      string
		want, got []emulator.LineState
	}{{"primary", want.Primary.Lines, got.Primary.Lines}, {"alternate", want.Alternate.Lines, got.Alternate.Lines}} {
		for y := range screen.want {
			if y < len(screen.got) && !reflect.DeepEqual(screen.want[y], screen.got[y]) {
				return fmt.Sprintf("line %d of the %s screen: %q\nand %q", y, screen.name, lineText(screen.want[y]), lineText(screen.got[y]))
			}
		}
	}
	want.Primary.Lines, got.Primary.Lines, want.Alternate.Lines, got.Alternate.Lines = nil, nil, nil, nil
	return fmt.Sprintf("beside the lines: %+v\nand %+v", want, got)
}

func lineText(l emulator.LineState) string {
	var b strings.Builder
	for _, c := range l.Cells {
		b.WriteString(c.Text)
	}
	return b.String()
}

// compareOracle paints both into xterm.js as the page has it.
func compareOracle(t *testing.T, raw []byte, moments []moment) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "web/node_modules/@xterm/headless")); err != nil {
		unmet.Skip(t, "the page's modules are not installed (make web-deps), so xterm.js is not asked")
	}
	var in bytes.Buffer
	for i, m := range moments {
		for _, q := range []struct {
			id     string
			stream []byte
		}{{"live", raw[:m.raw]}, {"shown", m.replay}} {
			line, err := strictjson.Marshal(map[string]any{
				"id": strconv.Itoa(i) + q.id, "cols": programCols, "rows": programRows,
				"chunks": []string{base64.StdEncoding.EncodeToString(q.stream)},
			})
			if err != nil {
				t.Fatal(err)
			}
			in.Write(append(line, '\n'))
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(root, "tools/oracle/oracle.mjs"))
	cmd.Stdin = &in
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(answers) != 2*len(moments) {
		t.Fatalf("the oracle gave %d answers to %d questions", len(answers), 2*len(moments))
	}
	for i := range moments {
		if !bytes.Equal(visible(answers[2*i]), visible(answers[2*i+1])) {
			t.Errorf("moment %d: in xterm.js the replay is another screen than the live bytes\n%.600s\n%.600s", i, answers[2*i], answers[2*i+1])
		}
	}
}

// visible is what an answer of the oracle says of the screen: its rows and its cursor.
func visible(answer []byte) []byte {
	_, rows, _ := bytes.Cut(answer, []byte(`"rows":[`))
	rows, rest, _ := bytes.Cut(rows, []byte(`,"wrapped"`))
	_, cursor, _ := bytes.Cut(rest, []byte(`"cursor":`))
	cursor, _, _ = bytes.Cut(cursor, []byte("}"))
	return append(append([]byte{}, rows...), cursor...)
}

func sampleText() []byte {
	var b bytes.Buffer
	for i := range 400 {
		fmt.Fprintf(&b, "line %d\tof a text with 全角 letters, ümlauts and a long tail %s\n", i, strings.Repeat("~", i%90))
	}
	return b.Bytes()
}
