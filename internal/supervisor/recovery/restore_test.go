// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spawn/internal/sessiond/emulator"
)

func TestPlanMapsEverythingInOrder(t *testing.T) {
	plan, err := PlanRestore(full(), Counters{Session: 5, Window: 6, Pane: 7, Z: 8}, "spawnd")
	must(t, err)
	if want := []Mapping{{"s0", "s5"}, {"s9", "s6"}}; !slices.Equal(plan.SessionMap, want) {
		t.Errorf("sessions %v", plan.SessionMap)
	}
	if want := []Mapping{{"w2", "w6"}, {"w10", "w7"}}; !slices.Equal(plan.WindowMap, want) {
		t.Errorf("windows %v", plan.WindowMap)
	}
	if want := []Mapping{{"p0", "p7"}, {"p1", "p8"}, {"p10", "p9"}, {"p11", "p10"}}; !slices.Equal(plan.PaneMap, want) {
		t.Errorf("panes %v", plan.PaneMap)
	}
	if plan.Next != (Counters{7, 8, 11, 9}) {
		t.Errorf("next %+v", plan.Next)
	}
	first := plan.Windows[0]
	if first.Revision != 1 || first.ID != "w6" || first.Session != "s5" || first.Nodes[0].Ratio != 1 || first.Nodes[2].Pane != "p8" || first.Nodes[3].Pane != "p9" || first.Nodes[4].Pane != "p7" {
		t.Errorf("window %+v", first)
	}
	// What was planned is a checkpoint again, under its new ids.
	again := Checkpoint{ID: plan.Checkpoint, Generation: 1, Socket: "/s", CapturedAt: noon, Shutdown: ShutdownOpen, Sessions: plan.Sessions, Windows: plan.Windows}
	for _, a := range plan.Archives {
		layer := ""
		if a.Float != nil {
			layer = LayerFloat
		}
		again.Panes = append(again.Panes, Pane{ID: a.Pane, Window: a.Window, Session: a.Session, Cols: a.Cols, Rows: a.Rows, State: StateExited,
			ExitCode: a.ExitCode, Signal: a.Signal, PreviousState: a.Recovery.ProcessState, Layer: layer, Float: a.Float, Tags: a.Tags, Text: Text{Availability: TextOmitted}})
	}
	if _, err := Encode(again, FileBytesMax); err != nil {
		t.Error(err)
	}
	for _, used := range []Counters{{Session: safeInteger}, {Window: safeInteger}, {Pane: safeInteger}, {Z: safeInteger}} {
		if _, err := PlanRestore(full(), used, ""); err == nil {
			t.Errorf("%+v: planned beyond the last id", used)
		}
	}
}

func TestPlanTellsWhatIsKnownOfAProcess(t *testing.T) {
	code := 0
	for _, test := range []struct {
		pane   Pane
		state  string
		code   bool
		signal string
	}{
		{Pane{State: StateRunning}, ProcessInterrupted, false, ""},
		{Pane{State: StateExited}, ProcessExited, false, ""},
		{Pane{State: StateExited, ExitCode: &code}, ProcessExited, true, ""},
		{Pane{State: StateExited, Signal: "SIGHUP"}, ProcessExited, false, "SIGHUP"},
		{Pane{State: StateExited, PreviousState: ProcessInterrupted}, ProcessInterrupted, false, ""},
		{Pane{State: StateExited, PreviousState: ProcessInterrupted, ExitCode: &code}, ProcessInterrupted, false, ""},
		{Pane{State: StateExited, PreviousState: ProcessExited, ExitCode: &code}, ProcessExited, true, ""},
	} {
		test.pane.Text.Availability = TextOmitted
		plan, err := PlanRestore(Checkpoint{Panes: []Pane{test.pane}}, Counters{}, "x")
		must(t, err)
		if a := plan.Archives[0]; a.Recovery.ProcessState != test.state || (a.ExitCode != nil) != test.code || a.Signal != test.signal || a.Recovery.TextState != TextOmitted {
			t.Errorf("%+v: %+v", test.pane, a)
		}
	}
}

func TestPlanStacksFloatsAsTheyLay(t *testing.T) {
	var c Checkpoint
	for i, z := range []int64{9, 2, 9, 1} {
		c.Panes = append(c.Panes, Pane{ID: fmt.Sprintf("p%d", i), Float: &Float{Z: z}})
	}
	plan, err := PlanRestore(c, Counters{Z: 10}, "")
	must(t, err)
	var got []int64
	for _, a := range plan.Archives {
		got = append(got, a.Float.Z)
	}
	if want := []int64{13, 12, 14, 11}; !slices.Equal(got, want) || plan.Next.Z != 14 || c.Panes[0].Float.Z != 9 {
		t.Errorf("orders %v, next %d", got, plan.Next.Z)
	}
}

func TestPlanKeepsTagsAndAddsAnOwner(t *testing.T) {
	sixteen := make([]Tag, 16)
	for i := range sixteen {
		sixteen[i] = Tag{"a" + strconv.Itoa(i+10), ""}
	}
	for _, test := range []struct{ have, want []Tag }{
		{nil, []Tag{{"owner", "me"}}},
		{[]Tag{{"owner", "other"}}, []Tag{{"owner", "other"}}},
		{[]Tag{{"group", "g"}, {"role", "r"}}, []Tag{{"group", "g"}, {"owner", "me"}, {"role", "r"}}},
		{sixteen, sixteen},
	} {
		if got := withOwner(test.have, "me"); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v became %v", test.have, got)
		}
	}
}

// listener notes what a terminal says.
type listener struct {
	history []string
	said    []string
}

func (l *listener) History(text []byte) { l.history = append(l.history, string(text)) }
func (l *listener) Wipe()               { l.said = append(l.said, "wipe") }
func (l *listener) Reply(p []byte)      { l.said = append(l.said, string(p)) }
func (l *listener) Notice(_ emulator.NoticeKind, text string) {
	l.said = append(l.said, text)
}

// T73: text that looks like commands and sequences is shown, and nothing comes of it.
func TestHydrationIsLiteral(t *testing.T) {
	hostile := []string{"[6n]52;c;cm0gLXJmIC8=", "$(reboot)", "😀 wide", "123456789012345"}
	a := Archive{Cols: 12, Rows: 4, Text: Rows{Screen: hostile, History: list("LD_PRELOAD=/tmp/x.so sh", "b")}}
	var l listener
	term, err := a.Hydrate(&l)
	must(t, err)
	if got := term.PlainScreen(); got[1] != hostile[1] || got[2] != hostile[2] || got[3] != "123456789012" {
		t.Errorf("shows %q", got)
	}
	if len(l.said) != 0 || !strings.Contains(strings.Join(l.history, ""), "LD_PRELOAD=") {
		t.Errorf("said %q, history %q", l.said, l.history)
	}
	if a.Recovery.CutRows != 3 {
		t.Errorf("%d rows cut", a.Recovery.CutRows)
	}
	a.Text.Screen[0] = "\x1b[6n"
	if _, err := a.Hydrate(&l); !errors.Is(err, ErrCorrupt) || len(l.said) != 0 {
		t.Errorf("a control character: %v, said %q", err, l.said)
	}
}

// T73: there is no way from a checkpoint to a process, because nothing here can start or signal one.
func TestNothingHereStartsOrSignals(t *testing.T) {
	files, err := os.ReadDir(".")
	must(t, err)
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		must(t, err)
		for _, spec := range parsed.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if path == "os" || path == "os/exec" || path == "syscall" || path == "net" || strings.HasPrefix(path, "golang.org/x/sys") {
				t.Errorf("%s imports %s", f.Name(), path)
			}
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("looked at only %d files", seen)
	}
	typ := reflect.TypeFor[PaneFacts]()
	for i := range typ.NumField() {
		for _, word := range []string{"argv", "env", "cwd", "pid", "principal", "token", "command"} {
			if name := strings.ToLower(typ.Field(i).Name); strings.Contains(name, word) {
				t.Errorf("PaneFacts has %s", name)
			}
		}
	}
}
