// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// What asks is taken out; what stands around it stays.
func TestNothingPassesThatATerminalAnswers(t *testing.T) {
	for _, q := range []string{
		"\x05", "\x1bZ", "\x1b[c", "\x1b[0c", "\x1b[>c", "\x1b[>0c", "\x1b[=c", "\x1b[5n", "\x1b[6n", "\x1b[?6n", "\x1b[?996n", "\x1b[?2026$p", "\x1b[4$p",
		"\x1b[>q", "\x1b[>0q", "\x1b[?u", "\x1b[14t", "\x1b[18t", "\x1b[21t", "\x1b[8;24;80t", "\x1b[3;0;0t", "\x1b[22;0t", "\x1b[x", "\x1b[1x",
		"\x1b[?1;1;0S", "\x1b[1;1;1;1;1;1*y", "\x1b[1$w", "\x1b[?4m", "\x1b[1#|", "\x1b['|", "\x1b[6\x08n", "\x1b[1\nc",
		"\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\x1bP1$qr\x1b\\", "\x1bP$q" + strings.Repeat("x", 1000) + "\x1b\\",
		"\x1b]4;1;?\x07", "\x1b]4;1;?\x1b\\", "\x1b]4;1;#ffffff;2;?\x07", "\x1b]10;?\x07", "\x1b]11;?\x1b\\", "\x1b]12;?\x07", "\x1b]17;?\x07",
		"\x1b]52;c;?\x07", "\x1b]52;;?\x1b\\", "\x1b]21;fg=?\x1b\\", "\x1b]22;?x\x1b\\", "\x1b]1337;ReportCellSize\x07", "\x1b]1337;RequestUpload=x\x07",
		"\x1b]99;i=1:p=?;\x1b\\", "\x1b]5522;type=read;x\x1b\\", "\x1b]4;" + strings.Repeat("1;#ffffff;", 100) + "2;?\x07",
		"\x1b_Gi=1,a=q;AAAA\x1b\\", "\x1b_sp:h1\x1b\\", "\x1b^x\x1b\\", "\x1bXx\x1b\\", "\x1b[" + strings.Repeat("0;", 500) + "c",
	} {
		check(t, "A"+q+"B", "AB")
	}
}

// The worker reports sizes and themes. A terminal that did so too would report twice, and its own size.
func TestTheTerminalReportsNothingByItself(t *testing.T) {
	for feed, want := range map[string]string{
		"\x1b[?2048h": "", "\x1b[?2031h": "", "\x1b[?2031;2048h": "", "\x1b[?2048:1h": "", "\x1b[?02048h": "", "\x1b[?20\n48h": "",
		"\x1b[?2004;2048h": "\x1b[?2004h", "\x1b[?2048;1049;2031;25h": "\x1b[?1049;25h",
		"\x1b[?2048l": "\x1b[?2048l", "\x1b[?20480h": "\x1b[?20480h", "\x1b[?12048h": "\x1b[?12048h", "\x1b[2048h": "\x1b[2048h",
	} {
		check(t, "A"+feed+"B", "A"+want+"B")
	}
}

func TestEverythingElsePassesAsItIs(t *testing.T) {
	for _, s := range []string{
		"plain\r\n", "ünïcödé 日本", "\x1b[1;31mred\x1b[m", "\x1b[?1049h", "\x1b[2J\x1b[H", "\x1b(0lqk\x1b(B", "\x1b7\x1b8", "\x1bM", "\x1b[4 q", "\x1b[!p",
		"\x1b[38;2;1;2;3m", "\x1b[>4;1m", "\x1b[>1u", "\x1b[=1;1u", "\x1b[<u", "\x1b[u", "\x1b[s", "\x1b[1;2;3;4;5$x", "\x1b[1S", "\x1b[0\"q", "\x1b[1$}",
		"\x1b]0;what?; a title?\x07", "\x1b]2;t?\x1b\\", "\x1b]8;;http://x/?q=?\x1b\\link\x1b]8;;\x1b\\", "\x1b]7;file:///?\x07", "\x1b]133;A\x07",
		"\x1b]52;c;" + strings.Repeat("QUJD", 1000) + "\x07", "\x1b]52;c;QQ==\x1b\\", "\x1b]4;1;#ffffff\x07", "\x1b]104\x1b\\", "\x1b]10;#ffffff\x1b\\",
		"\x1b]1337;SetMark\x07", "\x1b]1337;RemoteHost=a\x07", "\x1b]1337;File=inline=1:" + strings.Repeat("A", 1000) + "\x07", "\x1b]99;i=1;Really?\x1b\\",
		"\x1bPq#0;2;0;0;0" + strings.Repeat("~", 1000) + "\x1b\\", "\x1bP1;2q~\x1b\\", "\x1b]2;" + strings.Repeat("?", 1000) + "\x1b\\",
		"\x1b[\x18n", "\x1b[6\x1bM", "\x1b#8", "\x1b]2;cut\x18rest", "\x1b\x1b[m",
	} {
		check(t, "A"+s+"B", "A"+s+"B")
	}
}

// check feeds s whole, by single bytes and cut in two at each place.
func check(t *testing.T, s, want string) {
	t.Helper()
	var whole mute
	if got := string(whole.append(nil, []byte(s))); got != want {
		t.Errorf("%.80q became %.80q", s, got)
		return
	}
	for cut := range min(len(s), 400) {
		var m mute
		got := m.append(nil, []byte(s[:cut]))
		if got = m.append(got, []byte(s[cut:])); string(got) != want {
			t.Errorf("%.80q cut at %d became %.80q", s, cut, got)
			return
		}
	}
}

// Whatever comes in whatever pieces, the same passes, and nothing that passes asks when it is looked at
// again (T57).
func TestCutsDoNotMatter(t *testing.T) {
	alphabet := []string{"\x1b", "[", "]", "P", "\\", "\x07", "\x18", "\x05", "?", ";", "4", "52", "c", "n", "t", "$", "q", "p", "6", "x", "é", "_", "m", " "}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		s := b.String()
		var whole, pieces, again mute
		want := string(whole.append(nil, []byte(s)))
		var got []byte
		for rest := s; rest != ""; {
			n := 1 + r.IntN(min(5, len(rest)))
			got, rest = pieces.append(got, []byte(rest[:n])), rest[n:]
		}
		if string(got) != want {
			t.Fatalf("seed %d: %q became %q whole and %q in pieces", seed, s, want, got)
		}
		if twice := string(again.append(nil, []byte(want))); !strings.HasPrefix(want, twice) || len(want)-len(twice) > len(again.held) {
			t.Fatalf("seed %d: %q became %q, and that %q", seed, s, want, twice)
		}
	}
}

func BenchmarkMute(b *testing.B) {
	for name, p := range map[string][]byte{
		"text":   []byte(strings.Repeat("all work and no play makes jack a dull boy\r\n", 372)),
		"styled": []byte(strings.Repeat("\x1b[38;5;12mword\x1b[0m ", 800)),
	} {
		b.Run(name, func(b *testing.B) {
			var m mute
			var out []byte
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				out = m.append(out[:0], p)
			}
		})
	}
}
