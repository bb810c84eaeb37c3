// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"slices"
	"strings"
	"testing"
)

func TestQueriesHaveOneExactAnswer(t *testing.T) {
	for _, c := range []struct{ feed, want string }{
		{"\x1b[c", "\x1b[?1;2c"},
		{"\x1b[0c", "\x1b[?1;2c"},
		{"\x1b[1c", ""},
		{"\x1b[>c", "\x1b[>0;276;0c"},
		{"\x1b[>1c", ""},
		{"\x1b[5n", "\x1b[0n"},
		{"\x1b[3;4H\x1b[6n", "\x1b[3;4R"},
		{"\x1b[3;4H\x1b[?6n", "\x1b[?3;4R"},
		{"01234567890123456789\x1b[6n", "\x1b[1;21R"},
		{"\x1b[2;4r\x1b[?6h\x1b[6n", "\x1b[2;1R"},
		{"\x1b[18t", "\x1b[8;5;20t"},
		{"\x1b[?996n", "\x1b[?997;1n"},
		{"\x1b[?2031h", ""},
		{"\x1b[?2031$p\x1b[?2031h\x1b[?2031$p", "\x1b[?2031;2$y\x1b[?2031;1$y"},
		{"\x1b[?2048$p\x1b[?2048l", "\x1b[?2048;2$y"},
		{"\x1b[?2048h", "\x1b[48;5;20;0;0t"},
		{"\x1b[?2048h\x1b[?2048h\x1b[?2048$p", "\x1b[48;5;20;0;0t\x1b[48;5;20;0;0t\x1b[?2048;1$y"},
		{"\x1b[?25;2048;7h", "\x1b[48;5;20;0;0t"},
		{"\x1b[?2048:1h\x1b[?2048$p", "\x1b[?2048;1$y"},
		{"\x1b[?2048:2h", "\x1b[48;5;20;0;0t"},
		{"\x1b[?2031;2048h\x1b[!p\x1b[?2031$p\x1b[?2048$p", "\x1b[48;5;20;0;0t\x1b[?2031;2$y\x1b[?2048;2$y"},
		{"\x1b[?2031;2048h\x1bc\x1b[?2031$p\x1b[?2048$p", "\x1b[48;5;20;0;0t\x1b[?2031;2$y\x1b[?2048;2$y"},
		{"\x1b[4$p", "\x1b[4;2$y"},
		{"\x1b[4h\x1b[4$p", "\x1b[4;1$y"},
		{"\x1b[2$p\x1b[12$p\x1b[20$p\x1b[7$p", "\x1b[2;4$y\x1b[12;3$y\x1b[20;2$y\x1b[7;0$y"},
		{"\x1b[?7$p\x1b[?25$p\x1b[?2026$p", "\x1b[?7;1$y\x1b[?25;1$y\x1b[?2026;2$y"},
		{"\x1b[?1003h\x1b[?1000$p\x1b[?1003$p", "\x1b[?1000;2$y\x1b[?1003;1$y"},
		{"\x1b[?1016h\x1b[?1006$p\x1b[?1016$p", "\x1b[?1006;2$y\x1b[?1016;1$y"},
		{"\x1b[?47h\x1b[?1049$p\x1b[?1048$p\x1b[?67$p\x1b[?8$p", "\x1b[?1049;1$y\x1b[?1048;1$y\x1b[?67;4$y\x1b[?8;3$y"},
		{"\x1b[?2027$p\x1b[?69$p\x1b[?3$p", "\x1b[?2027;0$y\x1b[?69;0$y\x1b[?3;0$y"},
		{"\x1bP$qm\x1b\\", "\x1bP1$r0m\x1b\\"},
		{"\x1b[2;4r\x1bP$qr\x1b\\", "\x1bP1$r2;4r\x1b\\"},
		{"\x1bP$q q\x1b\\", "\x1bP1$r2 q\x1b\\"},
		{"\x1b[?12h\x1bP$q q\x1b\\", "\x1bP1$r1 q\x1b\\"},
		{"\x1bP$q\"p\x1b\\", "\x1bP1$r61;1\"p\x1b\\"},
		{"\x1b[1\"q\x1bP$q\"q\x1b\\", "\x1bP1$r1\"q\x1b\\"},
		{"\x1bP$qevil; rm\x1b\\", "\x1bP0$r\x1b\\"},
		{"\x1bP$qm\x18", ""},
		{"\x1b]4;1;?\a", "\x1b]4;1;rgb:cccc/0000/0000\x1b\\"},
		{"\x1b]4;1;#123456;1;?;20;?\a", "\x1b]4;1;rgb:1212/3434/5656\x1b\\\x1b]4;20;rgb:0000/0000/d7d7\x1b\\"},
		{"\x1b]4;1;#123456\a\x1b]104\a\x1b]4;1;?\a", "\x1b]4;1;rgb:cccc/0000/0000\x1b\\"},
		{"\x1b]4;255;?\a\x1b]4;256;?\a\x1b]4;-1;?\a", "\x1b]4;255;rgb:eeee/eeee/eeee\x1b\\"},
		{"\x1b]10;?\a\x1b]11;?\x1b\\\x1b]12;?\a", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]12;rgb:ffff/ffff/ffff\x1b\\"},
		{"\x1b]10;?;?\a", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"\x1b]11;rgb:f/8/0\a\x1b]11;?\a", "\x1b]11;rgb:ffff/8888/0000\x1b\\"},
		{"\x1b]11;#fff\a\x1b]111\a\x1b]11;?\a", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
	} {
		rec := &recorder{}
		New(20, 5, rec).Feed([]byte(c.feed))
		if got := rec.replies.String(); got != c.want {
			t.Errorf("%q is answered %q, want %q", c.feed, got, c.want)
		}
	}
}

// What the viewer can't do isn't advertised, and what could make the program
// type isn't answered.
func TestTheseAreNotAnswered(t *testing.T) {
	for _, q := range []string{
		"\x1b[=c", "\x1b[>q", "\x1b[>0q", "\x1b[?u", "\x1bP+q544e\x1b\\", "\x1b]52;c;?\a", "\x1b]50;?\a", "\x05",
		"\x1b[11t", "\x1b[13t", "\x1b[14t", "\x1b[15t", "\x1b[16t", "\x1b[19t", "\x1b[20t", "\x1b[21t",
		"\x1b[x", "\x1b[?15n", "\x1b[?25n", "\x1b[?26n", "\x1b[1;1;1;1;1;1*y", "\x1b[?4m", "\x1bZ",
	} {
		rec := &recorder{}
		New(20, 5, rec).Feed([]byte("\x1b]0;title\a" + q))
		if rec.replies.Len() > 0 {
			t.Errorf("%q is answered %q", q, rec.replies.String())
		}
	}
}

func TestThemeAnswersColourQueries(t *testing.T) {
	rec := &recorder{}
	term := New(20, 5, rec)
	theme := Theme{Foreground: 0x010203, Background: 0x040506, Cursor: 0x070809}
	theme.Palette[3] = 0xabcdef
	term.SetTheme(theme)
	term.Feed([]byte("\x1b]10;?;?;?\a\x1b]4;3;?\a"))
	want := "\x1b]10;rgb:0101/0202/0303\x1b\\\x1b]11;rgb:0404/0505/0606\x1b\\\x1b]12;rgb:0707/0808/0909\x1b\\\x1b]4;3;rgb:abab/cdcd/efef\x1b\\"
	if got := rec.replies.String(); got != want {
		t.Errorf("answers are %q, want %q", got, want)
	}
}

func TestThemeReportsTellDarkFromLight(t *testing.T) {
	const dark, light = "\x1b[?997;1n", "\x1b[?997;2n"
	for _, c := range []struct {
		feed        string
		backgrounds []Color
		want        string
	}{
		{"", []Color{0xffffff}, ""},
		{"\x1b[?2031h", []Color{0x101010, 0x000080, 0x7f7f7f}, ""},
		{"\x1b[?2031h", []Color{0x808080}, light},
		{"\x1b[?2031h", []Color{0x00ff00, 0xffff00, 0xff0000, 0x0000ff, 0xfdf6e3}, light + dark + light},
		{"\x1b[?2031h\x1b]11;#fff\a", []Color{0x000001}, ""},
		{"\x1b[?2031h\x1b[?2031l", []Color{0xffffff}, ""},
	} {
		rec := &recorder{}
		term := New(20, 5, rec)
		term.Feed([]byte(c.feed))
		theme := DefaultTheme()
		for _, theme.Background = range c.backgrounds {
			term.SetTheme(theme)
		}
		if got := rec.replies.String(); got != c.want {
			t.Errorf("%q with %06x tells %q, want %q", c.feed, c.backgrounds, got, c.want)
		}
	}
	rec := &recorder{}
	term := New(20, 5, rec)
	term.SetTheme(Theme{Background: 0xffffff})
	if term.Feed([]byte("\x1b[?996n")); rec.replies.String() != light {
		t.Errorf("a light theme is %q", rec.replies.String())
	}
}

func TestSizeReportsTellEachNewSize(t *testing.T) {
	rec := &recorder{}
	term := New(20, 5, rec)
	term.Resize(30, 6)
	term.Feed([]byte("\x1b[?2048:1h"))
	term.Resize(30, 6)
	term.Resize(40, 7)
	term.Resize(ColsMax+1, 0)
	term.Feed([]byte("\x1b[?2048l"))
	term.Resize(20, 5)
	if got, want := rec.replies.String(), "\x1b[48;7;40;0;0t\x1b[48;1;1000;0;0t"; got != want {
		t.Errorf("resizes tell %q, want %q", got, want)
	}
}

func TestRepliesToOneCommandAreBounded(t *testing.T) {
	rec := &recorder{}
	New(20, 5, rec).Feed([]byte("\x1b]4" + strings.Repeat(";7;?", 10000) + "\a"))
	if n := strings.Count(rec.replies.String(), "\x1b]4;"); n != repliesMax {
		t.Errorf("%d answers, want %d", n, repliesMax)
	}
}

func TestNotices(t *testing.T) {
	for _, c := range []struct {
		feed string
		want []string
	}{
		{"\x1b]0;a\a\x1b]2;a\a\x1b]2;b\a", []string{"1:a", "1:b"}},
		{"\x1b]1;icon\a", nil},
		{"\x1b]2;a\a\x1b[22t\x1b]2;b\a\x1b[23t\x1b[23t", []string{"1:a", "1:b", "1:a"}},
		{"\x1b]2;" + strings.Repeat("é", 600) + "\a", []string{"1:" + strings.Repeat("é", 512)}},
		{"\x1b]7;file://host/home/a%20b\a", []string{"2:/home/a b"}},
		{"\x1b]7;file:///x%1b%07y\a", []string{"2:/xy"}},
		{"\x1b]7;http://x/y\a\x1b]7;\a", nil},
		{"\a", []string{"3:"}},
		{"\x1b]9;done\a\x1b]9;4;1;50\a\x1b]777;notify;title;body;more\a\x1b]777;x;y\a", []string{"4:done", "4:title: body;more"}},
		{"\x1b]99;;one;two\a\x1b]99;i=1:d=0;ti\a\x1b]99;i=1:d=0:p=title;tle\a\x1b]99;i=1:p=body;body\a", []string{"4:one;two", "4:title: body"}},
		{"\x1b]99;e=1;aGVsbG8=\a\x1b]99;e=1;*\a\x1b]99;i=1:p=?;\a\x1b]99;i=1:p=close;x\a\x1b]99;none\a\x1b]99;;\a", []string{"4:hello"}},
		{"\x1b]99;i=1:d=0;lost\a\x1b]99;i=2:p=body;kept\a\x1b]99;i=3:d=0;with\a\x1b]99;i=3:p=icon;AAAA\a", []string{"4:kept", "4:with"}},
		{"\x1b]133;A\a\x1b]133;D;1\x1b\\", []string{"5:A", "5:D;1"}},
		{"\x1b]2;never\x18", nil},
	} {
		rec := &recorder{}
		New(20, 5, rec).Feed([]byte(c.feed))
		if !slices.Equal(rec.notices, c.want) {
			t.Errorf("%q gives %q, want %q", c.feed, rec.notices, c.want)
		}
	}
}
