// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/shape"
)

func TestEveryVerbIsACommandWithAllItsFlags(t *testing.T) {
	for _, v := range verbs.Table() {
		if v.Stream {
			continue
		}
		cmd, rest, err := rootCommand().Find(v.Command())
		if err != nil || len(rest) > 0 {
			t.Errorf("%s is no command: %v", v.Name, err)
			continue
		}
		for _, m := range v.Params.Members {
			f := cmd.Flags().Lookup(verbs.FlagName(m))
			if f == nil || !strings.Contains(f.Usage, m.Help) {
				t.Errorf("%s has no flag for %s, or one without its help", v.Name, m.Name)
			}
		}
		if len(v.Command()) > 1 && groups[v.Command()[0]] == "" {
			t.Errorf("nothing says what the commands of %s are about", v.Command()[0])
		}
	}
}

// What a program chose never moves a cursor, turns text around or ends a line (T55).
func TestShownTextIsHarmless(t *testing.T) {
	hostile := "a\x1b[2J\r\nb\t\u202e\u200b\u2066\u0085\xff\u2028" + strings.Repeat("x", 10)
	var out strings.Builder
	for _, v := range verbs.Table() {
		if v.Stream {
			continue
		}
		result := v.NewResult()
		switch r := result.(type) {
		case *verbs.PaneListResult:
			r.Panes = []verbs.Pane{{ID: "p0", Name: hostile, Title: hostile, Foreground: hostile}}
		case *verbs.PaneResult:
			r.Pane = verbs.Pane{ID: "p0", Name: strings.ToValidUTF8(hostile, ""), Title: strings.ToValidUTF8(hostile, "")}
		case *verbs.ViewerListResult:
			r.Viewers = []verbs.Viewing{{Viewer: "1", Name: strings.ToValidUTF8(hostile, "")}}
		case *verbs.PairNewResult:
			r.URL = hostile
		case *verbs.ConfigGetResult:
			text, err := strictjson.Marshal([]string{strings.ToValidUTF8(hostile, "")})
			if err != nil {
				t.Fatal(err)
			}
			r.Entries = []verbs.Setting{{Path: hostile, Value: text, Default: text}}
		case *verbs.ConfigReloadResult:
			r.Changed, r.Waiting = []string{hostile}, []string{hostile}
		case *verbs.ConfigSetResult:
			r.File = hostile
		case *verbs.ConfigCheckResult:
			r.File, r.Problems = hostile, []verbs.Problem{{Path: hostile, Line: 1, Message: hostile}}
		case *verbs.ConfigSchemaResult:
			r.Schema = verbs.Raw("\"a\u202e\"")
		case *verbs.DoctorResult:
			r.Results = []verbs.Finding{{Name: "a.b", Status: "warn", Message: hostile, Why: hostile, Remedy: hostile}}
		}
		if err := show(&out, v, result); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
	text := out.String()
	for _, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) || r == utf8.RuneError {
			t.Fatalf("%U is shown: %q", r, text)
		}
	}
	if strings.Count(text, `\u202e`) < 4 {
		t.Errorf("too little was shown for this to mean anything:\n%s", text)
	}
}

// JSON and errors go to terminals as well, and mean the same to programs (T55).
func TestJSONAndErrorsAreHarmlessOnATerminal(t *testing.T) {
	hostile := "a\x1b[2J\r\n\x7f\u0085\u009b\u202e\u2066\u200d\u2028\U000e0001 é 漢 🙂 \"\\"
	var out strings.Builder
	if err := printJSON(&out, verbs.Pane{Name: hostile}); err != nil {
		t.Fatal(err)
	}
	var back verbs.Pane
	if err := strictjson.Unmarshal([]byte(strings.TrimSuffix(out.String(), "\n")), &back); err != nil || back.Name != hostile {
		t.Errorf("%q came back as %q, %v", hostile, back.Name, err)
	}
	if !strings.Contains(out.String(), " é 漢 🙂 ") {
		t.Errorf("what shows is escaped: %s", out.String())
	}
	tell(&out, false, errors.New("no "+hostile))
	for _, r := range out.String() {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Fatalf("%U is shown: %q", r, out.String())
		}
	}
}

func TestTheHumanFormHasEveryMember(t *testing.T) {
	type row struct {
		Key string `json:"key" help:"a key"`
	}
	type result struct {
		Rows []row    `json:"rows" help:"rows"`
		Size uint16   `json:"size" help:"a size"`
		Code *int     `json:"code" help:"a code"`
		List []string `json:"list" help:"a list"`
		Row  row      `json:"row" help:"a record"`
		On   bool     `json:"on" help:"a flag"`
	}
	r := result{Rows: []row{{"k1"}, {"k2"}}, Size: 7, List: []string{"a", "b"}, Row: row{"k3"}}
	var out strings.Builder
	if err := show(&out, verbs.Verb{Name: "x.y", Result: shape.Of(r)}, r); err != nil {
		t.Fatal(err)
	}
	if want := "SIZE  7\nCODE  -\nLIST  a, b\nKEY   k3\nON    false\nKEY\nk1\nk2\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// A moment is shown as one, and the name of a member tells whether it is one.
func TestMomentsAreShownAsMoments(t *testing.T) {
	type result struct {
		MadeAt int64 `json:"made_at" help:"when it was made, in Unix milliseconds"`
		UsedAt int64 `json:"used_at" help:"when it was used, in Unix milliseconds; 0 for never"`
	}
	made := time.Date(2026, 3, 1, 14, 5, 6, 789e6, time.Local)
	var out strings.Builder
	r := result{MadeAt: made.UnixMilli()}
	if err := show(&out, verbs.Verb{Name: "x.y", Result: shape.Of(r)}, r); err != nil {
		t.Fatal(err)
	}
	if want := "MADE AT  2026-03-01 14:05:06\nUSED AT  -\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	var check func(name string, s shape.Struct)
	check = func(name string, s shape.Struct) {
		for _, m := range s.Members {
			if told := strings.Contains(m.Help, "in Unix milliseconds"); told != isMoment(m) {
				t.Errorf("%s: %s %q", name, m.Name, m.Help)
			}
			if m.Of != nil {
				check(name, *m.Of)
			}
		}
	}
	for _, v := range verbs.Table() {
		check(v.Name, v.Params)
		check(v.Name, v.Result)
	}
}
