// SPDX-License-Identifier: Apache-2.0

package loginenv

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const passwd = `root:x:0:0:root:/root:/bin/bash
# a comment
+::::::
short:x:7
ada:x:1000:1000:Ada,,,:/home/ada:/usr/bin/zsh
second:x:1000:1000::/home/second:/bin/dash
bare:x:1001:1001::/home/bare:
prefix:x:100:100::/home/prefix:/bin/false
`

func TestFindReadsTheUserDatabase(t *testing.T) {
	cases := []struct {
		uid  int
		want Account
		ok   bool
	}{
		{0, Account{"root", 0, "/root", "/bin/bash"}, true},
		{1000, Account{"ada", 1000, "/home/ada", "/usr/bin/zsh"}, true}, // the first of two
		{1001, Account{"bare", 1001, "/home/bare", ""}, true},
		{10, Account{}, false}, // no match on a part of a number
		{7, Account{}, false},
	}
	for _, c := range cases {
		if got, ok := find(strings.NewReader(passwd), c.uid); got != c.want || ok != c.ok {
			t.Errorf("find(%d) = %+v, %v", c.uid, got, ok)
		}
	}
}

func TestCompleteFallsBackInOrder(t *testing.T) {
	env := map[string]string{"HOME": "/home/env", "USER": "env", "SHELL": "/bin/fish"}
	runs := map[string]bool{"/bin/sh": true, "/bin/fish": true, "/bin/bash": true}
	cases := []struct {
		name string
		in   Account
		env  map[string]string
		want Account
		fail bool
	}{
		{"database wins", Account{"ada", 5, "/home/ada", "/bin/bash"}, env, Account{"ada", 5, "/home/ada", "/bin/bash"}, false},
		{"shell that does not run", Account{"ada", 5, "/home/ada", "/opt/gone"}, env, Account{"ada", 5, "/home/ada", "/bin/fish"}, false},
		{"relative shell", Account{"ada", 5, "/home/ada", "bash"}, env, Account{"ada", 5, "/home/ada", "/bin/fish"}, false},
		{"no entry", Account{UID: 5}, env, Account{"env", 5, "/home/env", "/bin/fish"}, false},
		{"nothing but a home", Account{UID: 5}, map[string]string{"HOME": "/h"}, Account{"", 5, "/h", "/bin/sh"}, false},
		{"no home", Account{UID: 5}, nil, Account{}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := complete(c.in, func(k string) string { return c.env[k] }, func(p string) bool { return runs[p] })
			if got != c.want || (err != nil) != c.fail {
				t.Fatalf("complete = %+v, %v", got, err)
			}
		})
	}
}

func TestCurrentFindsAShellThatRuns(t *testing.T) {
	a, err := Current(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if !executable(a.Shell) || a.UID != os.Getuid() {
		t.Fatalf("Current = %+v", a)
	}
}

func TestArgvStartsALoginShell(t *testing.T) {
	for shell, want := range map[string][]string{"/bin/bash": {"/bin/bash", "-l"}, "/usr/bin/zsh": {"/usr/bin/zsh", "-l"}, "/usr/bin/elvish": {"/usr/bin/elvish"}} {
		if got := (Account{Shell: shell}).Argv(); !slices.Equal(got, want) {
			t.Errorf("Argv of %s = %q", shell, got)
		}
	}
}

func TestEnvironDropsWhatIsNotTheShells(t *testing.T) {
	base := []string{
		"PATH=/bin", "FOO=a=b", "FOO=last", "NOTIFY_SOCKET=/run/x", "LISTEN_FDS=3", "LISTEN_PID=1", "LISTEN_FDNAMES=a", "INVOCATION_ID=1",
		"JOURNAL_STREAM=8:1", "WATCHDOG_USEC=1", "WATCHDOG_PID=1", "SPAWND_WORKER_DIR=/w", "SPAWN_TOKEN=secret", "SPAWN_PANE=p9", "TMUX=/tmp/x",
		"TMUX_PANE=%1", "STY=1.x", "TERM=dumb", "COLUMNS=3", "LINES=4", "TERM_PROGRAM=other", "HOME=/wrong", "SHELL=/bin/false", "USER=wrong",
		"=odd", "novalue", "NUL=a\x00b", "LATIN=\xe4", "TMUXINATOR=kept", "OLDPWD=/x", "EMPTY=",
	}
	got := Environ(base, Account{"ada", 5, "/home/ada", "/bin/zsh"}, Place{Pane: "p0", Version: "1.2"})
	want := []string{
		"COLORTERM=truecolor", "EMPTY=", "FOO=last", "HOME=/home/ada", "LANG=C.UTF-8", "LOGNAME=ada", "PATH=/bin", "SHELL=/bin/zsh", "SPAWN_PANE=p0",
		"TERM=xterm-256color", "TERM_PROGRAM=spawn", "TERM_PROGRAM_VERSION=1.2", "TMUXINATOR=kept", "USER=ada",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("Environ = %q\nwant      %q", got, want)
	}
}

func TestEnvironLeavesALocaleAlone(t *testing.T) {
	for _, entry := range []string{"LANG=de_DE.UTF-8", "LC_ALL=C", "LC_CTYPE=en_US.UTF-8"} {
		got := Environ([]string{entry}, Account{}, Place{})
		if !slices.Contains(got, entry) || slices.Contains(got, "LANG=C.UTF-8") {
			t.Errorf("%s: %q", entry, got)
		}
	}
	if got := Environ([]string{"LANG=", "LC_MESSAGES=de_DE"}, Account{}, Place{}); !slices.Contains(got, "LANG=C.UTF-8") {
		t.Errorf("empty LANG: %q", got)
	}
	if got := Environ([]string{"USER=kept"}, Account{}, Place{}); !slices.Contains(got, "USER=kept") {
		t.Errorf("unknown user: %q", got)
	}
}
