// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// DefaultKeys is Ctrl-\ and then d, as tmux has Ctrl-b d. One accidental key never detaches; Ctrl-\ twice
// sends one to the pane. Ctrl-\ alone quits programs and is rarely typed on purpose.
const DefaultKeys = `ctrl-\ d`

// ErrKeys means that a detach key can't be read.
var ErrKeys = errors.New("not a detach key")

// Keys are the detach key: one control key, or one and then a plain character.
type Keys struct {
	control byte // 0x00..0x1f
	then    byte // 0 when the control key alone detaches
	set     bool
}

// ParseKeys reads a detach key such as "ctrl-]" or "ctrl-a d".
func ParseKeys(s string) (Keys, error) {
	first, then, two := strings.Cut(s, " ")
	letter, ok := strings.CutPrefix(strings.ToLower(first), "ctrl-")
	if !ok || len(letter) != 1 || !strings.Contains(`abcdefghijklmnopqrstuvwxyz[\]^_`, letter) {
		return Keys{}, fmt.Errorf("%w: %q: write it like ctrl-] or ctrl-a d", ErrKeys, s)
	}
	k := Keys{control: letter[0] & 0x1f, set: true}
	if two {
		if len(then) != 1 || then[0] <= ' ' || then[0] > '~' {
			return Keys{}, fmt.Errorf("%w: %q: one plain character comes second", ErrKeys, s)
		}
		k.then = then[0]
	}
	return k, nil
}

// String is what ParseKeys reads.
func (k Keys) String() string {
	if !k.set {
		return DefaultKeys
	}
	s := "ctrl-" + string(rune(letterOf(k.control)))
	if k.then != 0 {
		s += " " + string(rune(k.then))
	}
	return s
}

// prefix is the control key, as ParseKeys reads it.
func (k Keys) prefix() string {
	first, _, _ := strings.Cut(k.String(), " ")
	return first
}

// detaches is the key that detaches behind the prefix; 0 when the control key alone does.
func (k Keys) detaches() byte {
	if !k.set {
		k, _ = ParseKeys(DefaultKeys) // a constant that can be read
	}
	return k.then
}

// scanner finds commands in what is typed.
type scanner struct {
	// prefix and then are the ways in which terminals send the keys: the plain byte, and the forms of
	// the kitty protocol and of xterm's modifyOtherKeys, which a program may have switched on. These are
	// recognised when they come in one read, as keys do.
	prefix [][]byte
	then   []key  // what may follow; none when the prefix alone detaches
	held   []byte // the prefix, while the key behind it is waited for
	out    []byte // scratch
}

// key is a command and the ways in which it is typed.
type key struct {
	does  command
	forms [][]byte
}

// newScanner makes a scanner of the detach key and, with walking, of all other commands.
func newScanner(k Keys, walking bool) *scanner {
	if !k.set {
		k, _ = ParseKeys(DefaultKeys) // a constant that can be read
	}
	s := &scanner{prefix: forms(k.control, letterOf(k.control), 5)}
	if k.then == 0 {
		return s
	}
	s.then = []key{{detach, forms(k.then, k.then, 1)}}
	for i := range len(walks) {
		if c := walks[i]; walking && c != k.then {
			s.then = append(s.then, key{command(c), append(forms(c, c, 1), forms(c, c, 2)...)})
		}
	}
	return s
}

// letterOf is the character that a control key is typed with.
func letterOf(control byte) byte {
	if c := control | 0x60; c >= 'a' && c <= 'z' {
		return c
	}
	return control | 0x40
}

func forms(plain, code byte, modifier int) [][]byte {
	all := [][]byte{
		{plain},
		fmt.Appendf(nil, "\x1b[%d;%du", code, modifier),
		fmt.Appendf(nil, "\x1b[27;%d;%d~", modifier, code),
	}
	if modifier == 1 {
		all = append(all, fmt.Appendf(nil, "\x1b[%du", code))
	}
	return all
}

// scan returns what is for the pane, the first command behind it, and what was typed after that; 0 and nothing
// when there is none. send is valid until the next call and may be p itself.
func (s *scanner) scan(p []byte) (send []byte, does command, rest []byte) {
	if s.held == nil && !bytes.Contains(p, s.prefix[0]) && bytes.IndexByte(p, 0x1b) < 0 {
		return p, 0, nil
	}
	s.out = s.out[:0]
	for len(p) > 0 {
		if s.held != nil {
			if c, n := s.command(p); c != 0 {
				s.held = nil
				return s.out, c, p[n:]
			}
			n := startsWith(p, s.prefix) // twice: one of them is meant
			s.out = append(s.out, s.held...)
			s.held, p = nil, p[n:]
			continue
		}
		if n := startsWith(p, s.prefix); n > 0 {
			if s.then == nil {
				return s.out, detach, p[n:]
			}
			s.held, p = bytes.Clone(p[:n]), p[n:]
			continue
		}
		s.out, p = append(s.out, p[0]), p[1:]
	}
	return s.out, 0, nil
}

// command returns the command that p begins with and its length, or 0.
func (s *scanner) command(p []byte) (command, int) {
	for _, k := range s.then {
		if n := startsWith(p, k.forms); n > 0 {
			return k.does, n
		}
	}
	return 0, 0
}

// startsWith returns the length of the form that p begins with, or 0.
func startsWith(p []byte, forms [][]byte) int {
	for _, f := range forms {
		if bytes.HasPrefix(p, f) {
			return len(f)
		}
	}
	return 0
}
