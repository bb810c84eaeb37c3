// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClipTextDropsTheOldestFirst(t *testing.T) {
	screen, history := []string{"ab", ""}, []string{"1", "22", "333", ""}
	for _, test := range []struct {
		rows, bytes int
		want        []string // of the history; nil for no text at all
	}{
		{100, 100, history}, {6, 8, history}, {6, 7, history[1:]}, {6, 5, history[2:]}, {6, 4, history[3:]}, {6, 2, history[3:]},
		{5, 100, history[1:]}, {3, 100, history[3:]}, {2, 100, []string{}}, {2, 2, []string{}},
		{1, 100, nil}, {6, 1, nil}, {0, 100, nil}, {100, 0, nil},
	} {
		got := ClipText(screen, list(history...), test.rows, test.bytes, noon, noon+1)
		if test.want == nil {
			if !reflect.DeepEqual(got, Text{Availability: TextOmitted}) {
				t.Errorf("%d rows, %d bytes: %+v", test.rows, test.bytes, got)
			}
			continue
		}
		if got.Availability != TextPlain || !slices.Equal(got.Screen, screen) || !slices.Equal(got.History.Rows(), test.want) || got.History.IsZero() {
			t.Errorf("%d rows, %d bytes: %+v", test.rows, test.bytes, got)
		}
	}
	// A blank screen costs no bytes, but without bytes there is no text.
	if got := ClipText([]string{""}, list(), 1, 0, noon, noon+1); got.Availability != TextOmitted {
		t.Errorf("no bytes: %+v", got)
	}
}

func TestFitOmitsTextFromTheHighestPaneDown(t *testing.T) {
	c := body(noon, 12, "")
	c.ID, c.Generation, c.Socket = "c01234567-89ab-4cde-8fab-0123456789ab", 1, "/s"
	for _, i := range []int{0, 3, 7, 11} {
		c.Panes[i].Text = ClipText([]string{`quoted "x" \ é 😀`}, list(strings.Repeat(`\"`, i)), 10, 1000, noon, noon+1)
	}
	whole, kept, err := fitFile(c, FileBytesMax)
	if err != nil || !reflect.DeepEqual(kept, c) {
		t.Fatalf("all fits, and got %+v, %v", kept, err)
	}
	least := 0
	for size := len(whole); ; size-- {
		file, kept, err := fitFile(c, size)
		if errors.Is(err, ErrSize) {
			least = size + 1
			break
		}
		must(t, err)
		if len(file) > size {
			t.Fatalf("%d bytes for %d", len(file), size)
		}
		gone := false
		for i := range kept.Panes {
			switch plain := kept.Panes[i].Text.Availability == TextPlain; {
			case c.Panes[i].Text.Availability != TextPlain:
			case plain && gone:
				t.Fatalf("%d bytes: pane %d has text and a lower one does not", size, i)
			case !plain:
				gone = true
			}
		}
		// Nothing is left out that would have fitted.
		if again, err := Encode(kept, size); err != nil || string(again) != string(file) {
			t.Fatal(err)
		}
		if n := textPanes(kept); n < 4 {
			next := kept
			next.Panes = slices.Clone(kept.Panes)
			i := []int{0, 3, 7, 11}[n]
			next.Panes[i].Text = c.Panes[i].Text
			if _, err := Encode(next, size); !errors.Is(err, ErrSize) {
				t.Fatalf("%d bytes: the text of pane %d would have fitted", size, i)
			}
		}
	}
	if bare, err := Encode(withoutText(c), FileBytesMax); err != nil || len(bare) != least {
		t.Errorf("topology alone has %d bytes, and %d were needed (%v)", len(bare), least, err)
	}
}

func TestPlainIsWhatHasNoControls(t *testing.T) {
	for r := range rune(0x800) {
		control := r < 0x20 || r >= 0x7f && r < 0xa0
		if got := isPlain("a" + string(r) + "b"); got == control {
			t.Errorf("%U: %v", r, got)
		}
	}
	for s, want := range map[string]bool{"": true, "\xff": false, "\xc2": false, "\xc2\x41": false, "\xed\xa0\x80": false, "\u2028": true, "\U0010ffff": true} {
		if isPlain(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

func TestExpiryOfText(t *testing.T) {
	saved := Text{Availability: TextPlain, SavedAt: noon, ExpiresAt: noon.Plus(100), Screen: []string{"x"}, History: list()}
	p := on(1)
	short, off, noRows, noBytes := p, p, p, p
	short.TextMaxAge, off.Text, noRows.TextMaxRows, noBytes.TextMaxBytes = 10, TextModeOff, 0, 0
	for name, test := range map[string]struct {
		now   Millis
		p     Policy
		alive bool
	}{
		"at once": {noon, p, true}, "last moment": {noon.Plus(100) - 1, p, true}, "stored expiry": {noon.Plus(100), p, false},
		"present age, last moment": {noon.Plus(10) - 1, short, true}, "present age": {noon.Plus(10), short, false},
		"clock went back": {noon - 1, p, false}, "1970": {1, p, false}, "2100": {noon.Plus(1 << 31), p, false},
		"off": {noon, off, false}, "no rows": {noon, noRows, false}, "no bytes": {noon, noBytes, false},
	} {
		got := Expire(Checkpoint{Panes: []Pane{{Text: saved}, {Text: Text{Availability: TextOmitted}}}}, test.now, test.p)
		want := Text{Availability: TextExpired}
		if test.alive {
			want = saved
		}
		if !reflect.DeepEqual(got.Panes[0].Text, want) || got.Panes[1].Text.Availability != TextOmitted {
			t.Errorf("%s: %+v", name, got.Panes)
		}
		a := Archive{Text: Rows{saved.Screen, saved.History}, SavedAt: saved.SavedAt, ExpiresAt: saved.ExpiresAt, Recovery: Recovery{TextState: TextPlain, CutRows: 3}}
		if dropped := a.ExpireText(test.now, test.p); dropped == test.alive || (len(a.Text.Screen) == 1) != test.alive || a.Recovery.CutRows != 3 {
			t.Errorf("%s: archive %+v", name, a)
		}
	}
}

func TestPolicyRanges(t *testing.T) {
	if err := DefaultPolicy().Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Policy){
		"interval_ms":          func(p *Policy) { p.Interval = time.Second - 1 },
		"max_checkpoints":      func(p *Policy) { p.MaxCheckpoints = 101 },
		"max_checkpoint_bytes": func(p *Policy) { p.MaxBytes = 65535 },
		"max_age_seconds":      func(p *Policy) { p.MaxAge = 0 },
		"text_max_rows":        func(p *Policy) { p.TextMaxRows = -1 },
		"text_max_bytes":       func(p *Policy) { p.TextMaxBytes = 16<<20 + 1 },
		"text_max_age_seconds": func(p *Policy) { p.MaxAge = p.TextMaxAge - 1 },
		"terminal_text":        func(p *Policy) { p.Text = "raw" },
	} {
		p := DefaultPolicy()
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "recovery."+name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// view is a snapshot in a test's hands.
type view struct {
	at       Millis
	sessions []Session
	windows  []Window
	panes    []PaneFacts
	rows     map[string]Rows
}

func (v view) CapturedAt() Millis  { return v.at }
func (v view) Sessions() []Session { return v.sessions }
func (v view) Windows() []Window   { return v.windows }
func (v view) Panes() []PaneFacts  { return v.panes }
func (v view) Rows(pane string) (Rows, bool) {
	rows, ok := v.rows[pane]
	return rows, ok
}

func TestCaptureSortsAndKeepsAnArchivesTimes(t *testing.T) {
	code := 3
	v := view{at: noon, sessions: []Session{{"s10", "b"}, {"s2", "a"}}, windows: []Window{{"w1", "s2", "", 4, nil}},
		panes: []PaneFacts{
			{ID: "p10", Window: "w1", Session: "s2", Cols: 80, Rows: 1, Running: true, Float: &Float{Z: 1}, Tags: []Tag{{"role", "a"}, {"owner", "b"}}, ExitCode: &code},
			{ID: "p9", Window: "w1", Session: "s2", Cols: 80, Rows: 1, Float: &Float{Z: 2}, ExitCode: &code,
				Archive: &ArchiveFacts{ProcessExited, TextPlain, noon.Plus(-50), noon.Plus(50)}},
			{ID: "p11", Window: "w1", Session: "s2", Cols: 80, Rows: 1, Float: &Float{Z: 3},
				Archive: &ArchiveFacts{ProcessInterrupted, TextPlain, noon.Plus(-50), noon}},
			{ID: "p12", Window: "w1", Session: "s2", Cols: 80, Rows: 1, Float: &Float{Z: 4}, Archive: &ArchiveFacts{ProcessInterrupted, TextExpired, 0, 0}},
			{ID: "p13", Window: "w1", Session: "s2", Cols: 80, Rows: 1, Running: true, Float: &Float{Z: 5}},
			{ID: "p14", Window: "w1", Session: "s2", Cols: 80, Rows: 1, Running: true, Float: &Float{Z: 6}},
			{ID: "p15", Window: "w1", Session: "s2", Cols: 80, Rows: 1, Lost: true, Float: &Float{Z: 7}},
		},
		rows: map[string]Rows{"p9": {[]string{"nine"}, List{}}, "p10": {[]string{"ten"}, list("old")}, "p11": {[]string{"gone"}, List{}}, "p12": {[]string{"gone"}, List{}},
			"p13": {[]string{"with \x1b[31m"}, List{}}},
	}
	c := Capture(v, ShutdownOpen, on(1))
	c.ID, c.Generation, c.Socket = "c01234567-89ab-4cde-8fab-0123456789ab", 1, "/s"
	file, err := Encode(c, FileBytesMax)
	must(t, err)
	back, _, err := Decode(file, reading)
	must(t, err)
	var got []string
	for _, p := range back.Panes {
		got = append(got, fmt.Sprint(p.ID, " ", p.State, " ", p.PreviousState, " ", p.ExitCode != nil, " ", p.Text.Availability, " ", p.Text.SavedAt-noon, " ", p.Text.ExpiresAt-noon, " ", p.Tags))
	}
	want := []string{
		"p9 exited exited true plain -50000 50000 []",
		"p10 running  false plain 0 86400000 [{owner b} {role a}]",
		fmt.Sprintf("p11 exited interrupted false expired %d %d []", -noon, -noon),
		fmt.Sprintf("p12 exited interrupted false expired %d %d []", -noon, -noon),
		fmt.Sprintf("p13 running  false omitted %d %d []", -noon, -noon),
		fmt.Sprintf("p14 running  false omitted %d %d []", -noon, -noon),
		fmt.Sprintf("p15 exited interrupted false omitted %d %d []", -noon, -noon),
	}
	if !slices.Equal(got, want) {
		t.Errorf("captured\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if back.Sessions[0].ID != "s2" || v.panes[0].Tags[0].Key != "role" {
		t.Error("not sorted, or the snapshot was changed")
	}
	off := on(1)
	off.Text = TextModeOff
	if file, err := Encode(func() Checkpoint {
		c := Capture(v, ShutdownOpen, off)
		c.ID, c.Generation, c.Socket = back.ID, 1, "/s"
		return c
	}(), FileBytesMax); err != nil || strings.Contains(string(file), "nine") {
		t.Errorf("text that is off was captured (%v)", err)
	}
}
