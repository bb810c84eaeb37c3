// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func many(n int, s string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestStartRefusesWhatCannotBeStarted(t *testing.T) {
	good := Start{Argv: []string{"/bin/sh"}, Cwd: "/", Env: []string{"A="}, Cols: 1, Rows: 1000}
	if _, err := AppendStart(nil, good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Start){
		"no argv":            func(s *Start) { s.Argv = nil },
		"empty program":      func(s *Start) { s.Argv = []string{"", "x"} },
		"NUL in argument":    func(s *Start) { s.Argv = []string{"sh", "a\x00b"} },
		"argument not UTF-8": func(s *Start) { s.Argv = []string{"sh", "\xff"} },
		"relative cwd":       func(s *Start) { s.Cwd = "home" },
		"NUL in cwd":         func(s *Start) { s.Cwd = "/\x00" },
		"env without name":   func(s *Start) { s.Env = []string{"=x"} },
		"env without value":  func(s *Start) { s.Env = []string{"A"} },
		"NUL in env":         func(s *Start) { s.Env = []string{"A=\x00"} },
		"no columns":         func(s *Start) { s.Cols = 0 },
		"too many columns":   func(s *Start) { s.Cols = 1001 },
		"no rows":            func(s *Start) { s.Rows = 0 },
		"too many rows":      func(s *Start) { s.Rows = 1001 },
	} {
		s := good
		change(&s)
		if _, err := AppendStart(nil, s); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrPayload", name, err)
		}
	}
	good.Env = many(3000, "A="+strings.Repeat("x", 100))
	if _, err := AppendStart(nil, good); !errors.Is(err, ErrTooLarge) {
		t.Errorf("300 KiB of env: got %v, want ErrTooLarge", err)
	}
}

func TestHelloRefusesWhatNoWorkerOfOursSays(t *testing.T) {
	for name, change := range map[string]func(*Hello){
		"upper-case session":     func(h *Hello) { h.SessionID = strings.ToUpper(h.SessionID) },
		"session is a path":      func(h *Hello) { h.SessionID = "../../../../../../../../../etc/passwd" },
		"short instance":         func(h *Hello) { h.InstanceID = h.InstanceID[1:] },
		"instance not hex":       func(h *Hello) { h.InstanceID = "g" + h.InstanceID[1:] },
		"unknown state":          func(h *Hello) { h.State = "paused" },
		"running without child":  func(h *Hello) { h.PID = 0 },
		"negative pid":           func(h *Hello) { h.PID = -1 },
		"waiting with child":     func(h *Hello) { h.State = StateWaiting },
		"before 1970":            func(h *Hello) { h.StartedAt = -1 },
		"no columns":             func(h *Hello) { h.Cols = 0 },
		"too many capabilities":  func(h *Hello) { h.Capabilities = many(33, "x") },
		"empty capability":       func(h *Hello) { h.Capabilities = []string{""} },
		"long capability":        func(h *Hello) { h.Capabilities = []string{strings.Repeat("x", 33)} },
		"capability with spaces": func(h *Hello) { h.Capabilities = []string{"a b"} },
	} {
		h := sampleHello()
		change(&h)
		if _, err := AppendHello(nil, h); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrPayload", name, err)
		}
	}
	if h := sampleHello(); !h.Can("") || !h.Can(CapHistory) || h.Can("later") {
		t.Error("capabilities are misread")
	}
}

func TestHelloOfAnotherVersionIsToldFromADamagedOne(t *testing.T) {
	for _, src := range []string{`{"version":4}`, `{"version":6,"later":[1]}`, `{"version":-1}`} {
		if _, err := DecodeHello([]byte(src)); !errors.Is(err, ErrVersion) || errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrVersion", src, err)
		}
	}
	for _, src := range []string{`{}`, `{"version":5}`, `{"version":"5"}`, `{"version":6,"version":6}`, `[]`, `null`, `{"version":6}x`} {
		if _, err := DecodeHello([]byte(src)); !errors.Is(err, ErrPayload) || errors.Is(err, ErrVersion) {
			t.Errorf("%s: got %v, want ErrPayload", src, err)
		}
	}
	h := sampleHello()
	h.Version = 6
	if _, err := AppendHello(nil, h); !errors.Is(err, ErrVersion) {
		t.Errorf("encoding: %v", err)
	}
}

func TestStructuredPayloadsHaveOneForm(t *testing.T) {
	for _, src := range []string{
		`{"exit_code":0} `, ` {"exit_code":0}`, `{"exit_code": 0}`, `{"exit_code":null}`, `{"signal":""}`,
		`{"exit_code":-0}`, `{"exit_code":0,"exit_code":0}`, `{"Exit_code":0}`, `{"exit_code":0,"x":1}`,
		`{"signal":"\u0053IGKILL"}`, `null`, `[]`, `""`, "{}\n", "{}{}",
	} {
		if e, err := DecodeExit([]byte(src)); !errors.Is(err, ErrPayload) {
			t.Errorf("%q: got %+v, %v, want ErrPayload", src, e, err)
		}
	}
}

func TestExitIsNeverTwoThings(t *testing.T) {
	for name, e := range map[string]Exit{
		"code and signal": {ExitCode: pointer(1), Signal: "SIGTERM"},
		"negative":        {ExitCode: pointer(-1)},
		"too large":       {ExitCode: pointer(math.MaxUint32 + 1)},
		"long signal":     {Signal: strings.Repeat("S", 33)},
		"control":         {Signal: "SIG\n"},
	} {
		if _, err := AppendExit(nil, e); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrPayload", name, err)
		}
	}
}

func TestNoticeCarriesOnlyWhatItsKindHas(t *testing.T) {
	for name, n := range map[string]Notice{
		"no kind":            {},
		"unknown kind":       {Kind: "reboot"},
		"bell with text":     {Kind: NoticeBell, Text: "x"},
		"title with size":    {Kind: NoticeTitle, Cols: 80, Rows: 24},
		"size without":       {Kind: NoticeSize},
		"size too large":     {Kind: NoticeSize, Cols: 1001, Rows: 24},
		"size with control":  {Kind: NoticeSize, Cols: 80, Rows: 24, Mine: true},
		"title with control": {Kind: NoticeTitle, Mine: true},
		"text too long":      {Kind: NoticeTitle, Text: strings.Repeat("x", NoticeTextMax+1)},
		"not UTF-8":          {Kind: NoticeTitle, Text: "\xff"},
	} {
		if _, err := AppendNotice(nil, n); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrPayload", name, err)
		}
	}
	for kind, text := range noticeKinds {
		if !text {
			continue
		}
		for _, filler := range []string{"x", "\x00", "\x1b", "\u2028", "\""} {
			n := Notice{Kind: kind, Text: ClipText(strings.Repeat(filler, NoticeTextMax), NoticeTextMax)}
			frame, err := AppendNotice(nil, n)
			if err != nil {
				t.Fatalf("the longest %s of %q does not fit: %v", kind, filler, err)
			}
			if got, err := DecodeNotice(frame[HeaderLen:]); err != nil || got != n {
				t.Errorf("%s of %q: %v", kind, filler, err)
			}
		}
	}
}

func TestClipTextCutsBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"abc", -1, ""}, {"", 0, ""},
		{"aé", 3, "aé"}, {"aé", 2, "a"}, {"€", 2, ""}, {"😀😀", 7, "😀"},
		{"a\xffb", 4, "a\uFFFD"}, {"a\xffb", 3, "a"},
	} {
		if got := ClipText(c.text, c.n); got != c.want {
			t.Errorf("%q at %d: got %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestThemeWantsWholeColours(t *testing.T) {
	for name, change := range map[string]func(*Theme){
		"missing":       func(th *Theme) { th.Cursor = "" },
		"upper case":    func(th *Theme) { th.Foreground = "#D0D0D0" },
		"short":         func(th *Theme) { th.Background = "#fff" },
		"no hash":       func(th *Theme) { th.Background = "0ffffff" },
		"not hex":       func(th *Theme) { th.Background = "#gggggg" },
		"15 colours":    func(th *Theme) { th.Palette = th.Palette[:15] },
		"bad colour":    func(th *Theme) { th.Palette[3] = "red" },
		"17th as extra": func(th *Theme) { th.Palette = append(th.Palette, "#000000") },
	} {
		th := sampleTheme()
		change(&th)
		if _, err := AppendTheme(nil, th); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrPayload", name, err)
		}
	}
	th := sampleTheme()
	th.Palette = nil
	if _, err := AppendTheme(nil, th); err != nil {
		t.Errorf("without a palette: %v", err)
	}
}

func TestCaptureIsPlainAndWhole(t *testing.T) {
	for name, c := range map[string]Capture{
		"no size":              {},
		"screen too short":     {Cols: 80, Rows: 3, Screen: []string{"a"}},
		"escape":               {Cols: 80, Rows: 1, Screen: []string{"\x1b[m"}},
		"C1":                   {Cols: 80, Rows: 1, Screen: []string{"\u009b"}},
		"line feed":            {Cols: 80, Rows: 1, History: []string{"a\nb"}},
		"not UTF-8":            {Cols: 80, Rows: 1, History: []string{"\xff"}},
		"lost, yet there":      {Cols: 80, Rows: 1, History: []string{"a"}, Lost: true},
		"oversize, yet there":  {Cols: 80, Rows: 1, Screen: []string{"a"}, Oversize: true},
		"cursor outside":       {Cols: 80, Rows: 1, Cursor: CaptureCursor{Row: 1}},
		"unknown mouse":        {Cols: 80, Rows: 1, Modes: CaptureModes{Mouse: 1001}},
		"title too long":       {Cols: 80, Rows: 1, Title: strings.Repeat("t", CaptureTitleMax+1)},
		"title with escape":    {Cols: 80, Rows: 1, Title: "\x1b[m"},
		"styled rows alone":    {Cols: 80, Rows: 1, StyledScreen: []string{"a"}},
		"styled history alone": {Cols: 80, Rows: 1, StyledHistory: []string{"a"}},
		"styled with EL":       {Cols: 80, Rows: 1, Screen: []string{"a"}, StyledScreen: []string{"\x1b[31ma\x1b[K"}},
		"styled with a link":   {Cols: 80, Rows: 1, Screen: []string{"a"}, StyledScreen: []string{"\x1b]8;;http://a\x1b\\a"}},
		"styled with a prefix": {Cols: 80, Rows: 1, Screen: []string{"a"}, StyledScreen: []string{"\x1b[>4ma"}},
		"styled, cut off":      {Cols: 80, Rows: 1, Screen: []string{"a"}, StyledScreen: []string{"a\x1b["}},
		"wraps outside":        {Cols: 80, Rows: 1, Screen: []string{"a"}, ScreenWraps: []int{1}},
		"wraps below":          {Cols: 80, Rows: 1, History: []string{"a"}, HistoryWraps: []int{-1}},
		"wraps fall":           {Cols: 80, Rows: 1, History: []string{"a", "b"}, HistoryWraps: []int{1, 0}},
		"styled with CR":       {Cols: 80, Rows: 1, Screen: []string{"a"}, StyledScreen: []string{"a\r"}},
	} {
		if _, err := AppendCapture(nil, c); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrPayload", name, err)
		}
	}
	if _, err := AppendCaptureReq(nil, CaptureReq{What: "everything"}); !errors.Is(err, ErrPayload) {
		t.Errorf("unknown part: %v", err)
	}
}

func TestRawPayloadsAreCheckedToo(t *testing.T) {
	for name, decode := range map[string]func() error{
		"resize to nothing":      func() error { _, _, err := DecodeResize([]byte{0, 0, 24, 0}); return err },
		"resize beyond":          func() error { _, _, err := DecodeResize([]byte{80, 0, 0xe9, 3}); return err },
		"subscription of 2":      func() error { _, err := DecodeHistorySub([]byte{2}); return err },
		"offset overflow":        func() error { _, err := DecodeHistory(append(repeated(0xff, 16), 'x')); return err },
		"foreground is a path":   func() error { _, err := DecodeForeground([]byte("/bin/sh")); return err },
		"foreground has escapes": func() error { _, err := DecodeForeground([]byte("a\x1b[m")); return err },
		"foreground not UTF-8":   func() error { _, err := DecodeForeground([]byte("\xff")); return err },
		"foreground too long":    func() error { _, err := DecodeForeground(repeated('x', 65)); return err },
	} {
		if err := decode(); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want ErrPayload", name, err)
		}
	}
	if _, err := AppendResize(nil, 0, 1); !errors.Is(err, ErrPayload) {
		t.Errorf("encoding a resize to nothing: %v", err)
	}
	if _, err := AppendForeground(nil, strings.Repeat("😀", 64)); err != nil {
		t.Errorf("64 characters of 4 bytes: %v", err)
	}
	if _, _, err := DecodeReplay(repeated(0, 7)); !errors.Is(err, ErrSize) {
		t.Errorf("replay without a whole watermark: %v", err)
	}
	if _, err := DecodeHistoryWipe(repeated(0, 9)); !errors.Is(err, ErrSize) {
		t.Errorf("wipe of 9 bytes: %v", err)
	}
}

func repeated(b byte, n int) []byte { return []byte(strings.Repeat(string([]byte{b}), n)) }

// Rows that are encoded one by one give the frame that they give together.
func TestCaptureInPartsIsTheSameFrame(t *testing.T) {
	c := Capture{Cols: 80, Rows: 2, Title: `"history":[],"styled_history":[]`, Screen: []string{`"history":[],"styled_history":[]`, ""}, Watermark: 7, Clipped: true}
	long := []string{"", `quo"ted \ and 世界`, strings.Repeat("x", 200), "last"}
	for _, n := range []int{0, 1, len(long)} {
		for _, styled := range []bool{false, true} {
			for split := range n + 1 {
				whole, rows := c, CaptureRows{Plain: make([][]byte, 3), Styled: make([][]byte, 2)}
				whole.History = long[:n]
				for i, row := range whole.History {
					part := min(i/max(1, split), 1)
					rows.Plain[2*part] = mustAppend(t)(AppendCaptureRow(rows.Plain[2*part], []byte(row), false))
					if styled {
						look := "\x1b[0;1m" + row + "\x1b[0m"
						whole.StyledHistory = append(whole.StyledHistory, look)
						rows.Styled[part] = mustAppend(t)(AppendCaptureRow(rows.Styled[part], []byte(look), true))
					}
				}
				want := mustAppend(t)(AppendCapture([]byte("before"), whole))
				got := mustAppend(t)(AppendCaptureParts([]byte("before"), c, rows))
				if !bytes.Equal(got, want) {
					t.Fatalf("%d rows split at %d:\n%s\nwant\n%s", n, split, got, want)
				}
			}
		}
	}
}

func TestCaptureInPartsIsRefusedAsTheWholeIs(t *testing.T) {
	for _, row := range []string{"\x1b[m", "a\r", "\u0085", "\xff"} {
		if got, err := AppendCaptureRow([]byte("x"), []byte(row), false); !errors.Is(err, ErrPayload) || string(got) != "x" {
			t.Errorf("row %q: %q, %v", row, got, err)
		}
	}
	if got, err := AppendCaptureRow([]byte("x"), []byte("\x1b[2J"), true); !errors.Is(err, ErrPayload) || string(got) != "x" {
		t.Errorf("a styled row that clears: %q, %v", got, err)
	}
	ok := Capture{Cols: 1, Rows: 1}
	if _, err := AppendCaptureParts(nil, Capture{}, CaptureRows{}); !errors.Is(err, ErrPayload) {
		t.Errorf("no size: %v", err)
	}
	ok.History = []string{"x"}
	if _, err := AppendCaptureParts(nil, ok, CaptureRows{}); !errors.Is(err, ErrPayload) {
		t.Errorf("two histories: %v", err)
	}
	ok.History = nil
	huge := CaptureRows{Plain: [][]byte{make([]byte, MaxFrameLen/2), make([]byte, MaxFrameLen/2)}}
	if got, err := AppendCaptureParts([]byte("x"), ok, huge); !errors.Is(err, ErrTooLarge) || string(got) != "x" {
		t.Errorf("a frame that is too large: %v", err)
	}
}

func mustAppend(t *testing.T) func(frame []byte, err error) []byte {
	return func(frame []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return frame
	}
}

// The quick reading of a capture takes what the thorough reading of any structured payload takes, and nothing else.
func FuzzDecodeCapture(f *testing.F) {
	c := Capture{Cols: 80, Rows: 1, Title: "t", Screen: []string{`"[]`}, History: []string{"a", `b"\`, "世界", ""}, Clipped: true}
	add := func(c Capture) {
		frame, err := AppendCapture(nil, c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame[HeaderLen:])
	}
	add(c)
	c.StyledHistory = []string{"a", "\x1b[0;1mb\x1b[0m", "", "x"}
	add(c)
	add(Capture{Cols: 1, Rows: 1, Lost: true})
	for _, list := range []string{``, `"a",`, `"a"]`, `"\u0061"`, `"\u001B[m"`, `"\/"`, `"\ud800"`, "\"\x1b[m\"", "\"\t\"", "\"\xff\"", `"a" ,"b"`, `null`, `1`, `"a","`} {
		frame, err := AppendCapture(nil, Capture{Cols: 1, Rows: 1})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Replace(frame[HeaderLen:], []byte(`"history":[`), []byte(`"history":[`+list), 1))
		f.Add(bytes.Replace(frame[HeaderLen:], []byte(`"styled_history":[`), []byte(`"styled_history":[`+list), 1))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, err := DecodeCapture(payload)
		want, wantErr := decodeStructured[Capture](KindCapture, payload)
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) && err == nil {
			t.Fatalf("read %+v, %v\nwant %+v, %v", got, err, want, wantErr)
		}
		if err != nil && errors.Is(wantErr, ErrPayload) != errors.Is(err, ErrPayload) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
	})
}

func BenchmarkDecodeCapture(b *testing.B) {
	c := Capture{Cols: 80, Rows: 1, Screen: []string{""}, History: slices.Repeat([]string{strings.Repeat("some text ", 8)}, 10_000)}
	frame, err := AppendCapture(nil, c)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeCapture(frame[HeaderLen:]); err != nil {
			b.Fatal(err)
		}
	}
}
