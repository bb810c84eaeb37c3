// SPDX-License-Identifier: Apache-2.0

package loginenv

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// dropped names what must not go from spawnd's own environment into a shell, and why. A name that ends
// in * stands for all that begin so.
var dropped = []string{
	// What systemd tells one service about itself. A shell that answered NOTIFY_SOCKET, or took the
	// sockets of LISTEN_FDS for its own, would speak in spawnd's name.
	"NOTIFY_SOCKET", "LISTEN_*", "WATCHDOG_*", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID",
	"MANAGERPIDFDID", "MAINPID", "FDSTORE", "MEMORY_PRESSURE_*", "CREDENTIALS_DIRECTORY", "RUNTIME_DIRECTORY",
	"STATE_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY", "PIDFILE",
	// Our own: folders and tokens of the instance. What a pane is told is set anew below.
	"SPAWN_*", "SPAWND_*",
	// The terminal, or multiplexer, from which spawnd was started. Programs that find these speak to a
	// terminal that is not the one they run in.
	"TMUX", "TMUX_PANE", "STY", "WINDOW", "WINDOWID", "TERMCAP", "COLUMNS", "LINES", "ZELLIJ*", "VTE_VERSION", "KITTY_*",
	"WEZTERM_*", "ITERM_*", "ALACRITTY_*", "KONSOLE_*", "GHOSTTY_*", "VSCODE_*", "TERM_SESSION_ID", "WT_SESSION",
	"WT_PROFILE_ID", "TERMINAL_EMULATOR", "LC_TERMINAL", "LC_TERMINAL_VERSION", "TILIX_ID", "TERMINATOR_UUID",
	// Where the process that started spawnd stood. The shell sets its own.
	"OLDPWD", "PWD", "SHLVL", "_",
}

// Place is what differs from one terminal to the next.
type Place struct {
	Pane    string // the pane's id, "p0"
	Version string // of spawnd, for TERM_PROGRAM_VERSION
}

// Environ is the environment of a shell that a logs in to at the place: base without what is dropped,
// then what a terminal and a login set. The result is sorted, holds each name once, and shares no memory
// with base. Entries of base that have no name, hold a NUL, or are not UTF-8 are left out: they cannot be
// carried to a worker.
func Environ(base []string, a Account, at Place) []string {
	values := make(map[string]string, len(base)+16)
	for _, entry := range base {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && !strings.ContainsRune(entry, 0) && utf8.ValidString(entry) && !isDropped(name) {
			values[name] = value
		}
	}
	for name, value := range map[string]string{
		"TERM": "xterm-256color", "COLORTERM": "truecolor", "TERM_PROGRAM": "spawn", "TERM_PROGRAM_VERSION": at.Version,
		"SPAWN_PANE": at.Pane, "HOME": a.Home, "SHELL": a.Shell, "USER": a.Name, "LOGNAME": a.Name,
	} {
		set(values, name, value)
	}
	if values["LC_ALL"] == "" && values["LC_CTYPE"] == "" && values["LANG"] == "" {
		values["LANG"] = "C.UTF-8" // without one, most programs take the terminal for ASCII
	}
	return sorted(values)
}

// set never replaces a value by an empty one: a user whom no database knows keeps the USER they came with.
func set(values map[string]string, name, value string) {
	if value != "" {
		values[name] = value
	}
}

func isDropped(name string) bool {
	return slices.ContainsFunc(dropped, func(rule string) bool {
		prefix, whole := strings.CutSuffix(rule, "*")
		return name == rule || whole && strings.HasPrefix(name, prefix)
	})
}

func sorted(values map[string]string) []string {
	out := make([]string, 0, len(values))
	for name, value := range values {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
