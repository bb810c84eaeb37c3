// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
)

// filled shows rows 0 to 2 and has ten of history.
func filled(s *screen) {
	s.shot = wire.Capture{Cols: 80, Rows: 3, Cursor: wire.CaptureCursor{Row: 2, Col: 4, Visible: true}}
	for i := range 13 {
		row := fmt.Sprintf("row %d  ", i-10)
		styled := "\x1b[1m" + row + "\x1b[0m"
		if i < 10 {
			s.shot.History, s.shot.StyledHistory = append(s.shot.History, row), append(s.shot.StyledHistory, styled)
		} else {
			s.shot.Screen, s.shot.StyledScreen = append(s.shot.Screen, row), append(s.shot.StyledScreen, styled)
		}
	}
}

func TestRowsAreChosenByNumber(t *testing.T) {
	for name, c := range map[string]struct {
		p           verbs.PaneCaptureParams
		first, rows int
		more        bool
		asked       uint32
	}{
		"everything":           {verbs.PaneCaptureParams{Part: "all"}, -10, 13, false, rowsDefault},
		"the last":             {verbs.PaneCaptureParams{Part: "all", Max: 5}, -2, 5, true, 5},
		"from a row":           {verbs.PaneCaptureParams{Part: "all", First: -4}, -4, 7, false, 4},
		"from beyond":          {verbs.PaneCaptureParams{Part: "all", First: -400}, -10, 13, false, 400},
		"to a row":             {verbs.PaneCaptureParams{Part: "all", Last: -8}, -10, 3, false, rowsDefault + 8},
		"between":              {verbs.PaneCaptureParams{Part: "all", First: -3, Last: -2}, -3, 2, false, 3},
		"between, and bounded": {verbs.PaneCaptureParams{Part: "all", First: -5, Last: 1, Max: 2}, 0, 2, true, 2},
		"behind the last":      {verbs.PaneCaptureParams{Part: "all", First: 7}, 3, 0, false, rowsDefault},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *screen) {
				filled(s)
				r, err := Capture(s.Context(), s, c.p)
				if err != nil || r.First != c.first || len(r.Lines) != c.rows || r.More != c.more || s.asked[0].MaxRows != c.asked || s.asked[0].What != wire.CaptureAll {
					s.Errorf("%+v, %v, asked %+v", r, err, s.asked)
				}
				if c.rows > 0 && r.Lines[0] != fmt.Sprintf("row %d", c.first) {
					s.Errorf("the first row is %q", r.Lines[0])
				}
			})
		})
	}
}

func TestAnAnswerIsBoundedAsJSON(t *testing.T) {
	bubble(t, func(s *screen) {
		row := strings.Repeat(`"`, 4000)
		s.shot.Screen = slices.Repeat([]string{row}, 250)
		s.shot.History = slices.Repeat([]string{row}, 1250)
		r, err := Capture(s.Context(), s, verbs.PaneCaptureParams{Part: "all"})
		if err != nil || !r.More || len(r.Lines) < answerBytes/2/4010 {
			t.Fatalf("%d rows, more %t, %v", len(r.Lines), r.More, err)
		}
		found, err := Search(s.Context(), s, verbs.PaneSearchParams{Regex: `".*`, Max: 10000})
		if err != nil || !found.More {
			t.Errorf("%d matches, more %t, %v", len(found.Matches), found.More, err)
		}
		cast, err := Export(s.Context(), s, verbs.PaneExportParams{Format: "plain"})
		if err != nil || !cast.Cut {
			t.Errorf("cut %t, %v", cast.Cut, err)
		}
		for _, result := range []any{r, found, cast} {
			if src, err := strictjson.Marshal(result); err != nil || len(src) > verbs.AnswerBytesMax-4096 {
				t.Errorf("%d bytes, %v", len(src), err)
			}
		}
	})
	for _, text := range []string{"", "a\nb\nc\n", strings.Repeat("\x1b\"é\n", 5), "日本語"} {
		src, err := strictjson.Marshal(text)
		if err != nil || encoded(text) < len(src) {
			t.Errorf("%q takes %d bytes, not %d", text, len(src), encoded(text))
		}
	}
	if end, cut := fitting("first\nsecond\nthird\n", 14); end != "third\n" || !cut {
		t.Errorf("%q, %t", end, cut)
	}
	if end, cut := fitting("日本語", 8); end != "語" || !cut {
		t.Errorf("%q, %t", end, cut)
	}
}

func TestAHistoryThatIsLostIsNoPartOfTheTruth(t *testing.T) {
	bubble(t, func(s *screen) {
		s.shot.Lost = true
		_, captured := Capture(s.Context(), s, verbs.PaneCaptureParams{Part: "history"})
		_, searched := Search(s.Context(), s, verbs.PaneSearchParams{Text: "x"})
		_, exported := Export(s.Context(), s, verbs.PaneExportParams{Format: "plain"})
		for _, err := range []error{captured, searched, exported} {
			if !refused(err, verbs.CodeNoHistory) {
				s.Error(err)
			}
		}
	})
}

// What a program wrote is text in a page, and its title cannot turn the page around.
func TestAPageHoldsTextAlone(t *testing.T) {
	bubble(t, func(s *screen) {
		hostile := `</pre><script>alert("1")</script><img src=x onerror=alert(1)> &lt; '`
		s.shot.Title = "</title>\u202e\u200b" + hostile
		s.shot.StyledScreen = []string{hostile, "\x1b[0;1;31m" + hostile + "\x1b[0m", ""}
		r, err := Export(s.Context(), s, verbs.PaneExportParams{Format: "html"})
		if err != nil {
			s.Fatal(err)
		}
		tags := regexp.MustCompile(`<[^>]*>`).FindAllString(r.Data, -1)
		for _, tag := range tags {
			if !regexp.MustCompile(`^<(!doctype html|/?(html|head|title|style|body|pre|span)( lang="en")?|meta [a-z="A-Z0-9; '-]*|span style="color:#cd0000;font-weight:bold")>$`).MatchString(tag) {
				s.Errorf("a tag: %s", tag)
			}
		}
		if len(tags) < 14 || strings.ContainsAny(r.Data, "\u202e\u200b\x1b") {
			s.Errorf("%d tags in %s", len(tags), r.Data)
		}
	})
}

func TestStylesBecomeRules(t *testing.T) {
	for row, want := range map[string]string{
		"plain":                                  "plain\n",
		"\x1b[0;1;3;4;9m<b>\x1b[0m.":             `<span style="font-weight:bold;font-style:italic;text-decoration:underline line-through">&lt;b&gt;</span>.` + "\n",
		"\x1b[0;4:3;58:2::1:2:3mu\x1b[0m":        `<span style="text-decoration:underline">u</span>` + "\n",
		"\x1b[0;38;5;196;48;5;232mi\x1b[0m":      `<span style="color:#ff0000;background:#080808">i</span>` + "\n",
		"\x1b[0;38;2;1;2;3;107mr\x1b[0m":         `<span style="color:#010203;background:#ffffff">r</span>` + "\n",
		"\x1b[0;7;31ms\x1b[0m":                   `<span style="color:#1e1e1e;background:#cd0000">s</span>` + "\n",
		"\x1b[0;8mx\x1b[0;2;53my\x1b[0;39;49mz":  `<span style="color:transparent">x</span><span style="opacity:.6;text-decoration:overline">y</span>z` + "\n",
		"\x1b[0;38;2;1mshort\x1b[0;38;5mshorter": "shortshorter\n",
	} {
		if got := htmlRow(row); got != want {
			t.Errorf("%q became %q, want %q", row, got, want)
		}
	}
}

// A cast is what its format says: a header, and events of a time, a letter and a text.
func TestACastIsOne(t *testing.T) {
	bubble(t, func(s *screen) {
		filled(s)
		s.shot.StyledScreen[0] = `quotes " and \ and 漢字`
		r, err := Export(s.Context(), s, verbs.PaneExportParams{Format: "asciicast"})
		if err != nil {
			s.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(r.Data, "\n"), "\n")
		if len(lines) != 2 || lines[0] != `{"version":3,"term":{"cols":80,"rows":3}}` {
			s.Fatalf("%q", lines)
		}
		var event []verbs.Raw
		var text string
		if err := strictjson.Unmarshal([]byte(lines[1]), &event); err != nil || len(event) != 3 || string(event[0]) != "0.0" || string(event[1]) != `"o"` {
			s.Fatalf("%s: %v", lines[1], err)
		}
		if err := strictjson.Unmarshal(event[2], &text); err != nil || strings.Count(text, "\r\n") != 13 || !strings.Contains(text, "\r\n"+s.shot.StyledScreen[0]+"\r\n") || !strings.HasSuffix(text, "\x1b[3;5H") {
			s.Errorf("%q, %v", text, err)
		}
	})
}

func TestMatchesAreCountedInColumns(t *testing.T) {
	bubble(t, func(s *screen) {
		s.shot.History = []string{"漢字 äö Error", "error error"}
		r, err := Search(s.Context(), s, verbs.PaneSearchParams{Text: "error", IgnoreCase: true})
		want := []verbs.Match{{Row: -2, Col: 8, Length: 5, Line: "漢字 äö Error"}, {Row: -1, Col: 0, Length: 5, Line: "error error"}, {Row: -1, Col: 6, Length: 5, Line: "error error"}}
		if err != nil || !slices.Equal(r.Matches, want) || r.More {
			s.Errorf("%+v, %v", r, err)
		}
		if r, err = Search(s.Context(), s, verbs.PaneSearchParams{Text: "error", IgnoreCase: true, Max: 2}); err != nil || !slices.Equal(r.Matches, want[1:]) || !r.More {
			s.Errorf("%+v, %v", r, err)
		}
		if r, err = Search(s.Context(), s, verbs.PaneSearchParams{Regex: "x*"}); err != nil || len(r.Matches) != 0 {
			s.Errorf("nothing is no match: %+v, %v", r, err)
		}
		if r, err = Search(s.Context(), s, verbs.PaneSearchParams{Text: "a.*b"}); err != nil || len(r.Matches) != 0 {
			s.Errorf("a text is no expression: %+v, %v", r, err)
		}
	})
}

// What the width of the terminal cut into rows is one line again, from the history over into the screen.
func TestALineThatWrapsIsOne(t *testing.T) {
	bubble(t, func(s *screen) {
		s.shot.Cols, s.shot.History = 6, []string{"of old", "漢字ab", "see ht"}
		s.shot.Screen = []string{"tps://", "x.org/", "ready  "}
		s.shot.HistoryWraps, s.shot.ScreenWraps = []int{1}, []int{0, 1, 2}
		for _, c := range []struct {
			text string
			want verbs.Match
		}{
			{"https://x.org/ready", verbs.Match{Row: -1, Col: 4, Length: 19, Line: "see https://x.org/ready"}},
			{"tps", verbs.Match{Row: 0, Col: 0, Length: 3, Line: "tps://"}},
			{"/x", verbs.Match{Row: 0, Col: 5, Length: 2, Line: "tps://x.org/"}},
			{"d漢字a", verbs.Match{Row: -3, Col: 5, Length: 6, Line: "of old漢字ab"}},
			{"b", verbs.Match{Row: -2, Col: 5, Length: 1, Line: "漢字ab"}},
		} {
			r, err := Search(s.Context(), s, verbs.PaneSearchParams{Text: c.text})
			if err != nil || !slices.Equal(r.Matches, []verbs.Match{c.want}) {
				s.Errorf("%s: %+v, %v", c.text, r, err)
			}
		}
		if r, err := Search(s.Context(), s, verbs.PaneSearchParams{Text: "bsee"}); err != nil || len(r.Matches) != 0 {
			s.Errorf("two lines taken for one: %+v, %v", r, err)
		}
		w, err := Wait(s.Context(), s, verbs.PaneWaitParams{Regex: "https://x.org/ready$"})
		if err != nil || w.Line != "see https://x.org/ready" {
			s.Errorf("%+v, %v", w, err)
		}
		c, err := Capture(s.Context(), s, verbs.PaneCaptureParams{Part: "all"})
		if err != nil || !slices.Equal(c.Continued, []int{-2, 0, 1, 2}) {
			s.Errorf("%+v, %v", c, err)
		}
		if c, err = Capture(s.Context(), s, verbs.PaneCaptureParams{Part: "all", First: 1}); err != nil || !slices.Equal(c.Continued, []int{2}) {
			s.Errorf("%+v, %v", c, err)
		}
	})
}

func TestKeysAndPastesAreWhatTheProgramAskedFor(t *testing.T) {
	bubble(t, func(s *screen) {
		s.shot.Modes = wire.CaptureModes{CursorKeys: true, BracketedPaste: true}
		for _, p := range []verbs.PaneSendParams{{Text: "a\x1b[201~\n"}, {Keys: []string{"Up", "C-c"}}, {Paste: "x\x1b[201~y\n"}} {
			if _, err := Send(s.Context(), s, p); err != nil {
				s.Error(err)
			}
		}
		if want := "a\x1b[201~\n\x1bOA\x03\x1b[200~x[201~y\r\x1b[201~"; string(s.typed) != want || s.looks != 2 {
			s.Errorf("%q, want %q; %d looks", s.typed, want, s.looks)
		}
		if _, err := Send(s.Context(), s, verbs.PaneSendParams{Keys: []string{"a", "Nope"}}); !refused(err, verbs.CodeKey) {
			s.Error(err)
		}
	})
}
