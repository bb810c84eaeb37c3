// SPDX-License-Identifier: Apache-2.0

package foreground

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"bash\n":                         "bash",
		"kworker/0:1":                    "0:1",
		"/usr/bin/vim":                   "vim",
		"a\x1b[31mb\x07":                 "a[31mb",
		"x\u202ey\u200bz":                "xyz",
		"\xff\xfeok":                     "ok",
		"":                               "",
		"dir/":                           "",
		strings.Repeat("ü", 100):         strings.Repeat("ü", NameRunesMax),
		strings.Repeat("\U0001F600", 65): strings.Repeat("\U0001F600", NameRunesMax),
	} {
		got := clean(in)
		if got != want || !utf8.ValidString(got) {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNameOfOurselves(t *testing.T) {
	name, err := Name(os.Getpid())
	if err != nil || !strings.HasPrefix("foreground.test", name) || name == "" {
		t.Errorf("%q, %v", name, err)
	}
	if _, err := Name(1 << 30); err == nil {
		t.Error("a process that cannot exist has a name")
	}
}
