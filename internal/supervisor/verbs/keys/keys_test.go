// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestKeysAreThoseOfXterm(t *testing.T) {
	application := Modes{ApplicationCursor: true}
	for _, c := range []struct {
		name string
		m    Modes
		want string
	}{
		{"Enter", Modes{}, "\r"}, {"Tab", Modes{}, "\t"}, {"BTab", Modes{}, "\x1b[Z"}, {"S-Tab", Modes{}, "\x1b[Z"}, {"Escape", Modes{}, "\x1b"},
		{"Space", Modes{}, " "}, {"BSpace", Modes{}, "\x7f"}, {"a", Modes{}, "a"}, {"é", Modes{}, "é"}, {"漢", Modes{}, "漢"}, {"-", Modes{}, "-"},
		{"C-c", Modes{}, "\x03"}, {"C-C", Modes{}, "\x03"}, {"C-Space", Modes{}, "\x00"}, {"C-[", Modes{}, "\x1b"}, {"C-_", Modes{}, "\x1f"}, {"C-?", Modes{}, "\x7f"},
		{"M-x", Modes{}, "\x1bx"}, {"C-M-x", Modes{}, "\x1b\x18"}, {"M-C-x", Modes{}, "\x1b\x18"}, {"S-a", Modes{}, "A"}, {"M-Enter", Modes{}, "\x1b\r"}, {"M--", Modes{}, "\x1b-"},
		{"Up", Modes{}, "\x1b[A"}, {"Up", application, "\x1bOA"}, {"C-Up", application, "\x1b[1;5A"}, {"S-M-C-Left", Modes{}, "\x1b[1;8D"},
		{"Home", Modes{}, "\x1b[H"}, {"End", application, "\x1bOF"}, {"S-Home", Modes{}, "\x1b[1;2H"},
		{"Insert", application, "\x1b[2~"}, {"DC", Modes{}, "\x1b[3~"}, {"C-Delete", Modes{}, "\x1b[3;5~"}, {"PPage", Modes{}, "\x1b[5~"}, {"PgUp", Modes{}, "\x1b[5~"}, {"C-PgDn", Modes{}, "\x1b[6;5~"},
		{"Ins", Modes{}, "\x1b[2~"}, {"Del", Modes{}, "\x1b[3~"}, {"PageDown", Modes{}, "\x1b[6~"},
		{"F1", Modes{}, "\x1bOP"}, {"F4", application, "\x1bOS"}, {"S-F1", Modes{}, "\x1b[1;2P"}, {"F5", Modes{}, "\x1b[15~"}, {"F12", Modes{}, "\x1b[24~"}, {"M-F5", Modes{}, "\x1b[15;3~"},
	} {
		if got, err := Press(c.name, c.m); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestEachNameIsListedOnce(t *testing.T) {
	names := Names()
	listed := map[string]bool{}
	for _, key := range names {
		for _, name := range key {
			if _, err := Press(name, Modes{}); err != nil || listed[name] {
				t.Errorf("%s: twice %t, %v", name, listed[name], err)
			}
			listed[name] = true
		}
	}
	if len(listed) != len(functions)+len(named)+1 {
		t.Errorf("%d names, %v", len(listed), names)
	}
	if got := strings.Join(names[len(names)-1], " "); got != "F12" {
		t.Errorf("the last one is %s", got)
	}
	if i := slices.IndexFunc(names, func(key []string) bool { return key[0] == "PageUp" }); i < 0 || strings.Join(names[i], " ") != "PageUp PPage PgUp" {
		t.Errorf("%v", names)
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	for _, name := range []string{"", "ab", "enter", "C-", "C-é", "C-C-c", "F13", "F0", "\x1b", "\n", "\u0085", "\xff", "X-a", "C-5"} {
		if got, err := Press(name, Modes{}); !errors.Is(err, ErrKey) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestPastesCannotEndTheirBrackets(t *testing.T) {
	hostile := "a\x1b[201~b\nc\r\nd\te\x00\x03\u009b201~\x7f\xff"
	want := "a[201~b\rc\rd\te201~\uFFFD"
	if got := string(Paste(hostile, Modes{})); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := string(Paste(hostile, Modes{BracketedPaste: true})); got != "\x1b[200~"+want+"\x1b[201~" {
		t.Errorf("%q", got)
	}
}

func FuzzPaste(f *testing.F) {
	f.Add("\x1b[20\x1b1~1~")
	f.Fuzz(func(t *testing.T, text string) {
		got := string(Paste(text, Modes{BracketedPaste: true}))
		if strings.Count(got, "\x1b") != 2 || !strings.HasSuffix(got, "\x1b[201~") {
			t.Errorf("%q became %q", text, got)
		}
	})
}
