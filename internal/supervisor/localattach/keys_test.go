// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"errors"
	"testing"
)

func TestKeysAreReadAndWritten(t *testing.T) {
	for _, s := range []string{`ctrl-\ d`, "ctrl-]", "ctrl-a d", "ctrl-a ctrl", "ctrl-", "ctrl-1", "x", "", "ctrl-a  d", "ctrl-a é", "ctrl-^", "ctrl-_ ."} {
		k, err := ParseKeys(s)
		if err != nil && !errors.Is(err, ErrKeys) || err == nil && k.String() != s {
			t.Errorf("%q: %v, %v", s, k, err)
		}
		if bad := map[string]bool{"ctrl-a ctrl": true, "ctrl-": true, "ctrl-1": true, "x": true, "": true, "ctrl-a  d": true, "ctrl-a é": true}[s]; bad != (err != nil) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if (Keys{}).String() != DefaultKeys {
		t.Error("the zero value is not the default")
	}
}

func TestDetachKeyIsFound(t *testing.T) {
	single, _ := ParseKeys("ctrl-]")
	for name, c := range map[string]struct {
		keys   Keys
		typed  []string
		sent   string
		detach bool
	}{
		"in one read":                {Keys{}, []string{"ab\x1cd"}, "ab", true},
		"in two":                     {Keys{}, []string{"ab\x1c", "d"}, "ab", true},
		"another key follows":        {Keys{}, []string{"\x1c", "x"}, "\x1cx", false},
		"twice":                      {Keys{}, []string{"\x1c\x1cd"}, "\x1cd", false},
		"thrice":                     {Keys{}, []string{"\x1c\x1c\x1cd"}, "\x1c", true},
		"nothing special":            {Keys{}, []string{"\x1b[A", "é"}, "\x1b[Aé", false},
		"kitty protocol":             {Keys{}, []string{"\x1b[92;5u", "d"}, "", true},
		"kitty protocol, all keys":   {Keys{}, []string{"\x1b[92;5u", "\x1b[100u"}, "", true},
		"modifyOtherKeys":            {Keys{}, []string{"\x1b[27;5;92~", "d"}, "", true},
		"kitty, then another":        {Keys{}, []string{"\x1b[92;5u", "x"}, "\x1b[92;5ux", false},
		"a single key":               {single, []string{"a\x1d", "b"}, "a", true},
		"the default's is no longer": {single, []string{"\x1cd"}, "\x1cd", false},
	} {
		s := newScanner(c.keys, false)
		sent, detached := "", false
		for _, typed := range c.typed {
			send, does, _ := s.scan([]byte(typed))
			sent += string(send)
			if detached = does == detach; detached {
				break
			}
		}
		if sent != c.sent || detached != c.detach {
			t.Errorf("%s: sent %q, detached %t; want %q, %t", name, sent, detached, c.sent, c.detach)
		}
	}
}
