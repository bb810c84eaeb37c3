// SPDX-License-Identifier: Apache-2.0

// Package keys makes the bytes that a terminal sends for keys and for pastes, as xterm has them
// (ctlseqs, "PC-Style Function Keys" and "Bracketed Paste Mode").
package keys

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrKey means that there is no key of that name.
var ErrKey = errors.New("no such key")

// Modes are what the program in the terminal has switched on.
type Modes struct {
	ApplicationCursor bool // DECCKM
	BracketedPaste    bool // 2004
}

// modifiers are bits of the parameter that xterm adds to a function key, less one.
type modifiers uint8

const (
	shift   modifiers = 1
	alt     modifiers = 2
	control modifiers = 4
)

// A function key is CSI final, or SS3 final in application mode, or CSI number ~.
type function struct {
	final  byte
	number int
	ss3    bool // SS3 whatever the mode, while no modifier is held
	cursor bool // SS3 in application mode
}

// functions are the keys that send a sequence, by their names, what keyboards have printed on them, and those that
// tmux has for them.
var functions = map[string]function{
	"Up": {final: 'A', cursor: true}, "Down": {final: 'B', cursor: true}, "Right": {final: 'C', cursor: true}, "Left": {final: 'D', cursor: true},
	"Home": {final: 'H', cursor: true}, "End": {final: 'F', cursor: true},
	"Insert": {number: 2}, "Ins": {number: 2}, "IC": {number: 2}, "Delete": {number: 3}, "Del": {number: 3}, "DC": {number: 3},
	"PageUp": {number: 5}, "PgUp": {number: 5}, "PPage": {number: 5}, "PageDown": {number: 6}, "PgDn": {number: 6}, "NPage": {number: 6},
	"F1": {final: 'P', ss3: true}, "F2": {final: 'Q', ss3: true}, "F3": {final: 'R', ss3: true}, "F4": {final: 'S', ss3: true},
	"F5": {number: 15}, "F6": {number: 17}, "F7": {number: 18}, "F8": {number: 19}, "F9": {number: 20}, "F10": {number: 21},
	"F11": {number: 23}, "F12": {number: 24},
}

// named are the characters that are keys with a name.
var named = map[string]rune{
	"Enter": '\r', "Tab": '\t', "Escape": 0x1b, "Esc": 0x1b, "Space": ' ', "Backspace": 0x7f, "BSpace": 0x7f,
}

const backTab = "BTab" // which is S-Tab too

// Names lists the keys that have a name, each with all of its names; the function keys come last.
func Names() [][]string {
	byBytes := map[string][]string{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(functions)), slices.Collect(maps.Keys(named)), []string{backTab}) {
		if sent, err := Press(name, Modes{}); err == nil {
			byBytes[string(sent)] = append(byBytes[string(sent)], name)
		}
	}
	longest := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, names := range byBytes {
		slices.SortFunc(names, longest)
	}
	return slices.SortedFunc(maps.Values(byBytes), func(a, b []string) int {
		return cmp.Or(order(a[0])-order(b[0]), strings.Compare(a[0], b[0]))
	})
}

// order is 0 of a key in the order of the alphabet, and the number of a function key.
func order(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "F"))
	if err != nil {
		return 0
	}
	return n
}

// Press returns what the key sends: a name of the tables, or one character, with C-, M- and S- in front.
func Press(name string, m Modes) ([]byte, error) {
	held, key := split(name)
	if f, ok := functions[key]; ok {
		return f.bytes(held, m), nil
	}
	if key == backTab || key == "Tab" && held&shift != 0 {
		return withAlt(held, "\x1b[Z"), nil
	}
	r, ok := named[key]
	if !ok {
		var size int
		if r, size = utf8.DecodeRuneInString(key); size == 0 || size != len(key) || r == utf8.RuneError || unicode.IsControl(r) {
			return nil, fmt.Errorf("press a key: %w", ErrKey)
		}
	}
	if held&shift != 0 {
		r = unicode.ToUpper(r)
	}
	if held&control != 0 {
		if r, ok = controlled(r); !ok {
			return nil, fmt.Errorf("press a key with control: %w", ErrKey)
		}
	}
	return withAlt(held, string(r)), nil
}

// split takes the modifiers off a key's name. A lone - is a key, and so is what C-- holds control with.
func split(name string) (modifiers, string) {
	var held modifiers
	for len(name) > 2 && name[1] == '-' {
		bit, ok := map[byte]modifiers{'C': control, 'M': alt, 'S': shift}[name[0]]
		if !ok || held&bit != 0 {
			break
		}
		held, name = held|bit, name[2:]
	}
	return held, name
}

func (f function) bytes(held modifiers, m Modes) []byte {
	switch {
	case f.number != 0 && held != 0:
		return fmt.Appendf(nil, "\x1b[%d;%d~", f.number, held+1)
	case f.number != 0:
		return fmt.Appendf(nil, "\x1b[%d~", f.number)
	case held != 0:
		return fmt.Appendf(nil, "\x1b[1;%d%c", held+1, f.final)
	case f.ss3 || f.cursor && m.ApplicationCursor:
		return fmt.Appendf(nil, "\x1bO%c", f.final)
	}
	return fmt.Appendf(nil, "\x1b[%c", f.final)
}

func withAlt(held modifiers, text string) []byte {
	if held&alt != 0 {
		text = "\x1b" + text
	}
	return []byte(text)
}

// controlled is the control character of a key (ECMA-48: the letter's low five bits).
func controlled(r rune) (rune, bool) {
	switch {
	case r == ' ':
		return 0, true
	case r == '?':
		return 0x7f, true
	case r >= '@' && r <= '_':
		return r & 0x1f, true
	case r >= 'a' && r <= 'z':
		return r & 0x1f, true
	case r == '\r' || r == '\t' || r == 0x1b || r == 0x7f:
		return r, true
	}
	return 0, false
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Paste returns what pasting the text sends. Lines end with a carriage return, as the key does. No control
// character but the tab is in it, so the text can neither end its own brackets nor press a key.
func Paste(text string, m Modes) []byte {
	text = strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\r' && r != '\t' {
			return -1
		}
		return r
	}, text)
	if m.BracketedPaste {
		text = pasteBegin + text + pasteEnd
	}
	return []byte(text)
}
