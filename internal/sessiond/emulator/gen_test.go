// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// gen makes random streams from a grammar of what programs and attackers send.
type gen struct {
	*rand.Rand
	cols, rows int
	// mild leaves out what a real terminal program hardly sends: raw bytes,
	// broken sequences, absurd numbers.
	mild bool
}

func newGen(seed uint64, cols, rows int) *gen {
	return &gen{Rand: rand.New(rand.NewPCG(seed, 1)), cols: cols, rows: rows}
}

func (g *gen) pick(s ...string) string { return s[g.IntN(len(s))] }

// stream returns about n pieces.
func (g *gen) stream(n int) []byte {
	var b strings.Builder
	for range n {
		b.WriteString(g.piece())
	}
	return []byte(b.String())
}

func (g *gen) piece() string {
	switch g.IntN(20) {
	case 0, 1, 2, 3, 4:
		return g.words()
	case 5, 6:
		return g.glyphs()
	case 7:
		return g.pick("\n", "\r", "\r\n", "\b", "\t", "\v", "\f", "\x0e", "\x0f", "\x07")
	case 8, 9:
		return g.sgr()
	case 10, 11:
		return g.move()
	case 12, 13:
		return g.edit()
	case 14:
		return g.mode()
	case 15:
		return g.escape()
	case 16:
		return g.osc()
	case 17:
		return g.pick("\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1b[?1048h", "\x1b[?1048l")
	case 18:
		return g.region()
	}
	return g.odd()
}

const letters = "abcdefghijklmnopqrstuvwxyz ABC#@[]{|}~`0123"

func (g *gen) words() string {
	n := 1 + g.IntN(g.cols+4)
	if g.IntN(3) > 0 {
		n = 1 + g.IntN(8)
	}
	var b strings.Builder
	for range n {
		b.WriteByte(letters[g.IntN(len(letters))])
	}
	return b.String()
}

func (g *gen) glyphs() string {
	var b strings.Builder
	for range 1 + g.IntN(6) {
		b.WriteString(g.pick("é", "ж", "世", "界", "😀", "한", "e\u0301", "a\u0301\u0302", "\u0301", "\u200d",
			"👨\u200d👩", "❤\ufe0f", "🇩🇪", "क्षि", "─", "█", "ｱ", "\u00a0", "\u00ad", "Ａ", "x"))
	}
	return b.String()
}

func (g *gen) num() int {
	switch g.IntN(8) {
	case 0:
		return 0
	case 1:
		return g.IntN(max(g.cols, g.rows) * 2)
	case 2:
		if !g.mild {
			return g.IntN(1 << 31)
		}
	}
	return g.IntN(6)
}

func (g *gen) sgr() string {
	one := func() string {
		switch g.IntN(8) {
		case 0:
			return fmt.Sprint(g.IntN(60))
		case 1:
			return fmt.Sprintf("%d;5;%d", 38+10*g.IntN(3), g.IntN(256))
		case 2:
			return fmt.Sprintf("%d;2;%d;%d;%d", 38+10*g.IntN(3), g.IntN(256), g.IntN(256), g.IntN(256))
		case 3:
			return fmt.Sprintf("%d:2::%d:%d:%d", 38+10*g.IntN(3), g.IntN(256), g.IntN(256), g.IntN(256))
		case 4:
			return fmt.Sprintf("4:%d", g.IntN(6))
		case 5:
			return fmt.Sprint(30 + g.IntN(20))
		case 6:
			return g.pick("0", "", "1", "4", "7", "9", "53", "58:5:9", "59", "24", "27", "38:5:3", "48;5", "38:2:1:2:3")
		}
		return fmt.Sprint(90 + g.IntN(20))
	}
	parts := make([]string, 1+g.IntN(3))
	for i := range parts {
		parts[i] = one()
	}
	return "\x1b[" + strings.Join(parts, ";") + "m"
}

func (g *gen) move() string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("\x1b[%d;%dH", g.IntN(g.rows+2), g.IntN(g.cols+2))
	case 1:
		return fmt.Sprintf("\x1b[%dG", g.IntN(g.cols+2))
	case 2:
		return fmt.Sprintf("\x1b[%dd", g.IntN(g.rows+2))
	}
	return fmt.Sprintf("\x1b[%d%s", g.num(), g.pick("A", "B", "C", "D", "E", "F", "a", "e", "`", "I", "Z"))
}

func (g *gen) edit() string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("\x1b[%d%s", g.IntN(3), g.pick("J", "K", "K"))
	case 1:
		return fmt.Sprintf("\x1b[?%d%s", g.IntN(3), g.pick("J", "K"))
	case 2:
		return fmt.Sprintf("\x1b[%d%s", g.num(), g.pick("@", "P", "X", "L", "M", "S", "T"))
	}
	return g.pick("\x1b[1\"q", "\x1b[0\"q", "\x1b[2\"q", fmt.Sprintf("\x1b[%db", g.IntN(20)),
		fmt.Sprintf("\x1b[%d @", g.IntN(4)), fmt.Sprintf("\x1b[%d A", g.IntN(4)),
		fmt.Sprintf("\x1b[%d'}", g.IntN(4)), fmt.Sprintf("\x1b[%d'~", g.IntN(4)))
}

func (g *gen) mode() string {
	on := g.pick("h", "l")
	switch g.IntN(4) {
	case 0:
		return "\x1b[" + g.pick("4", "20", "4;20") + on
	case 1:
		return "\x1b[?" + g.pick("47", "1047", "1049", "1049") + on
	case 2:
		return "\x1b[?" + g.pick("6", "7", "45", "6", "7") + on
	}
	if g.IntN(8) == 0 {
		return g.pick("\x1b[>1u", "\x1b[>31u", "\x1b[<u", "\x1b[<2u", "\x1b[=5u", "\x1b[=8;2u", "\x1b[=1;3u")
	}
	return "\x1b[?" + g.pick("1", "9", "12", "25", "66", "1000", "1002", "1003", "1004", "1006", "1016", "2004", "2026", "2031", "2048", "2", "5", "69", "1;2004", "2031;2048") + on
}

func (g *gen) escape() string {
	switch g.IntN(4) {
	case 0:
		return "\x1b" + g.pick("(", ")", "*", "+", "-", ".", "/") + g.pick("0", "B", "A", "4", "K", "=", "0", "z")
	case 1:
		return "\x1b" + g.pick("D", "E", "M", "H", "=", ">", "#8", "n", "o", "|", "}", "~", "%G", "%@")
	case 2:
		return g.pick("\x1b[g", "\x1b[3g", "\x1bH", "\x1b[!p", fmt.Sprintf("\x1b[%d q", g.IntN(9)))
	}
	if g.IntN(10) == 0 {
		return g.pick("\x1bc", "\x1b[3J")
	}
	return g.pick("\x1bM", "\x1bD", "\u0084", "\u0085", "\u0088", "\u009b3C", "\u009d2;t\u009c")
}

func (g *gen) osc() string {
	end := g.pick("\x07", "\x1b\\", "\u009c")
	return g.pick(
		"\x1b]0;title ü", "\x1b]1;icon", "\x1b]2;t2", "\x1b]8;;http://a/b;c", "\x1b]8;id=x;http://a", "\x1b]8;id=y:k=v;http://b",
		"\x1b]8;;", "\x1b]8;id=x;", "\x1b]4;1;#123456", "\x1b]4;1;?;300;#fff", "\x1b]104", "\x1b]104;1;2",
		"\x1b]10;#fff;rgb:1/2/3", "\x1b]11;?", "\x1b]110", "\x1b]111;", "\x1b]112", "\x1b]7;file://h/tmp", "\x1b]9;hey", "\x1b]133;A", "\x1b]133;B;k=x", "\x1b]133;C", "\x1b]133;D;1", "\x1b]133;=6", "\x1b]133;=99", "\x1b]133;AB",
		"\x1b]777;notify;a;b", "\x1b]52;c;AAAA", "\x1b]x;y") + end +
		g.pick("", "", "", "\x1b[22t", "\x1b[23t", "\x1b[22;1t", "\x1b[23;2t")
}

func (g *gen) region() string {
	top := 1 + g.IntN(g.rows)
	return fmt.Sprintf("\x1b[%d;%dr", top, top+g.IntN(g.rows)) + g.pick("", "\n\n", "\x1bM", "\x1b[S", "\x1b[T", "\x1b[r")
}

func (g *gen) odd() string {
	if g.mild {
		return g.pick("\x1b[c", "\x1b[6n", "\x1b[5n", "\x1b[?6n", "\x1b[>c", "\x1b[?2026$p", "\x1b[4$p", "\x1bP$qm\x1b\\", "\x1b[18t", "\x1b[?996n")
	}
	switch g.IntN(5) {
	case 0:
		b := make([]byte, 1+g.IntN(6))
		for i := range b {
			b[i] = byte(g.IntN(256))
		}
		return string(b)
	case 1:
		return g.pick("\x1b[", "\x1b", "\x1b[?", "\x1b[1;", "\x1b]0;", "\x1b]", "\x1bP", "\x1bP$q", "\x1b_", "\x1bX", "\x1b[3:", "\x1b(", "\x18", "\x1a", "\x1b[1$", "\xe2\x82", "\xf0\x9f")
	case 2:
		return g.pick("\x1bP$qm\x1b\\", "\x1bPq#1\x1b\\", "\x1b_Gx\x1b\\", "\x1b^é\x1b\\", "\x1bP1<x\x1b\\", "\x1b[<1m", "\x1b[1<m", "\x1b[1!m", "\x7f", "\x00", "\x05")
	case 3:
		return fmt.Sprintf("\x1b[%s%d;%d:%d%c", g.pick("", "?", ">", "="), g.num(), g.num(), g.num(), 0x40+g.IntN(62))
	}
	return g.pick("\x1b[c", "\x1b[6n", "\x1b[?6n", "\x1b[>c", "\x1b[?2026$p", "\x1b[4$p", "\x1bP$qr\x1b\\", "\x1b[18t", "\x1b[?u", "\x1b[>q", "\x1b[?996n", "\x1b[?2048:1h", "\x1b[?2048:2h")
}

// size returns a random geometry, small ones more often.
func size(r *rand.Rand) (cols, rows int) {
	switch r.IntN(4) {
	case 0:
		return 2 + r.IntN(4), 1 + r.IntN(4)
	case 1:
		return 80, 24
	}
	return 4 + r.IntN(30), 1 + r.IntN(12)
}
