// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNamesThatDoNotShowAreRefused(t *testing.T) {
	for _, bad := range []string{
		"a\nb", "a\x1b[31mb", "a\x00", "a\u202eb", "a\u2066b", "a\u200bb", "a\u2028b", "a\u0085b", "a\xffb", "a\u200d", "\u200da", "a\ufeffb", "a\U000e0041", "a\ue000", "\u3164", "a\u115fb", "a\u034fb", "a\uffa0",
		strings.Repeat("a", NameRunesMax+1),
	} {
		if got, err := CleanName(bad); !errors.Is(err, ErrName) {
			t.Errorf("CleanName(%q) = %q, %v", bad, got, err)
		}
	}
	for in, want := range map[string]string{"": "", "  ": "", " a b ": "a b", "Ü 日本": "Ü 日本", "👩\u200d💻": "👩\u200d💻", "می\u200cخواهم": "می\u200cخواهم", strings.Repeat("é", NameRunesMax): strings.Repeat("é", NameRunesMax)} {
		if got, err := CleanName(in); got != want || err != nil {
			t.Errorf("CleanName(%q) = %q, %v", in, got, err)
		}
	}
}

func TestTitlesAreMadeFitToShow(t *testing.T) {
	for in, want := range map[string]string{
		"vim \x1b]0;x\x07 a": "vim ]0;x a", "a\u202eb\u200b": "ab", " a\tb\n": "ab", "a\xff": "a\uFFFD",
		strings.Repeat("x", 1e6): strings.Repeat("x", TitleRunesMax),
	} {
		if got := CleanTitle(in); got != want {
			t.Errorf("CleanTitle(%.40q) = %.40q", in, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })).Draw(t, "in")
		got := CleanTitle(in)
		if CleanTitle(got) != got || !utf8.ValidString(got) || utf8.RuneCountInString(got) > TitleRunesMax {
			t.Fatalf("CleanTitle(%q) = %q, then %q", in, got, CleanTitle(got))
		}
	})
}

// Of a command its name may be known, and nothing of where it lies or what it is given.
func TestArgv0IsTheNameAlone(t *testing.T) {
	for argv0, want := range map[string]string{
		"": "", "sh": "sh", "/bin/sh": "sh", "-bash": "-bash", "-/bin/bash": "bash", "/opt/s3cret/x y": "x y", "/": "", "./a/": "",
		"a\u202eb": "ab", "\x1b[31mls": "[31mls", "\xffls": "ls", strings.Repeat("é", 200): strings.Repeat("é", 127),
	} {
		got := CleanArgv0(argv0)
		if got != want || len(got) > Argv0Max || CleanArgv0(got) != got {
			t.Errorf("%q is known as %q, want %q", argv0, got, want)
		}
	}
}
