// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"slices"
	"strings"
	"testing"
)

func TestKeyboardFlags(t *testing.T) {
	for _, c := range []struct {
		feed string
		want []uint8
	}{
		{"", []uint8{0}},
		{"\x1b[>1u", []uint8{0, 1}},
		{"\x1b[>u", []uint8{0, 0}},
		{"\x1b[=5u", []uint8{5}},
		{"\x1b[>1u\x1b[=6;2u", []uint8{0, 7}},
		{"\x1b[>7u\x1b[=2;3u", []uint8{0, 5}},
		{"\x1b[>7u\x1b[=2;4u", []uint8{0, 7}},
		{"\x1b[>255u", []uint8{0, 31}},
		{"\x1b[>1u\x1b[>2u\x1b[<u", []uint8{0, 1}},
		{"\x1b[=9u\x1b[>1u\x1b[>2u\x1b[<2u", []uint8{9}},
		{"\x1b[=9u\x1b[>1u\x1b[<9u", []uint8{0}},
		{strings.Repeat("\x1b[>1u", 20) + "\x1b[>2u", []uint8{1, 1, 1, 1, 1, 1, 1, 2}},
		{"\x1b[>1u\x1b[?1049h\x1b[>2u\x1b[?1049l", []uint8{0, 1}},
		{"\x1b[>1u\x1b[!p", []uint8{0, 1}},
		{"\x1b[>1u\x1bc", []uint8{0}},
	} {
		rec := &recorder{}
		term := New(9, 2, rec)
		term.Feed([]byte(c.feed))
		if got := term.State().Primary.Keyboard; !slices.Equal(got, c.want) {
			t.Errorf("%q leads to %v, want %v", c.feed, got, c.want)
		}
		if rec.replies.Len() > 0 {
			t.Errorf("%q is answered", c.feed)
		}
	}
	term := fresh(9, 2, []byte("\x1b[>1u\x1b[?1049h"))
	if got := term.State().Alternate.Keyboard; !slices.Equal(got, []uint8{0}) {
		t.Errorf("the alternate screen begins with %v", got)
	}
	term.Resize(20, 5)
	if got := term.State().Primary.Keyboard; !slices.Equal(got, []uint8{0, 1}) {
		t.Errorf("a resize leaves %v", got)
	}
}
