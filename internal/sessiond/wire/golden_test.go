// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// exchange is one golden frame: how it is encoded, and how its payload is decoded and encoded again.
type exchange struct {
	kind   Kind
	file   string // under testdata, without v5- and .hex
	encode func() ([]byte, error)
	again  func(payload []byte) ([]byte, error)
}

func pointer[T any](v T) *T { return &v }

// both makes the two functions of an exchange from a value and its encoder and decoder, and fails
// the decoding when the result differs from the value.
func both[T any](k Kind, file string, v T, encode func([]byte, T) ([]byte, error), decode func([]byte) (T, error)) exchange {
	return exchange{k, file,
		func() ([]byte, error) { return encode(nil, v) },
		func(payload []byte) ([]byte, error) {
			got, err := decode(payload)
			if err != nil {
				return nil, err
			}
			if !reflect.DeepEqual(got, v) {
				return nil, ErrPayload
			}
			return encode(nil, got)
		}}
}

func raw(p []byte) ([]byte, error) { return p, nil }

func sampleHello() Hello {
	return Hello{
		Version: 5, SessionID: "01234567-89ab-4cde-8fab-0123456789ab",
		InstanceID: "00112233445566778899aabbccddeeff", PID: 4242, State: StateRunning,
		Cols: 80, Rows: 24, Epoch: 1<<64 - 1, Offset: 1 << 53, StartedAt: 1794000000000,
		History: true, Capabilities: Capabilities(),
	}
}

func sampleTheme() Theme {
	return Theme{"#d0d0d0", "#101010", "#ffcc00", []string{
		"#000000", "#cc0000", "#00cc00", "#cccc00", "#0000cc", "#cc00cc", "#00cccc", "#cccccc",
		"#444444", "#ff0000", "#00ff00", "#ffff00", "#0000ff", "#ff00ff", "#00ffff", "#ffffff",
	}}
}

// exchanges has at least one golden frame for every kind.
func exchanges() []exchange {
	type size struct{ cols, rows uint16 }
	type replay struct {
		watermark uint64
		stream    []byte
	}
	return []exchange{
		both(KindStart, "start",
			Start{[]string{"/bin/bash", "-l"}, "/home/user", []string{"TERM=xterm-256color", "LANG=C.UTF-8"}, 80, 24},
			AppendStart, DecodeStart),
		both(KindInput, "input", []byte("ls\r"), AppendInput, raw),
		both(KindResize, "resize", size{132, 1000},
			func(dst []byte, s size) ([]byte, error) { return AppendResize(dst, s.cols, s.rows) },
			func(p []byte) (s size, err error) { s.cols, s.rows, err = DecodeResize(p); return s, err }),
		both(KindReplayReq, "replay-req", uint32(12<<20), AppendReplayReq, DecodeReplayReq),
		both(KindReplayReq, "replay-req-screen", uint32(0), AppendReplayReq, DecodeReplayReq),
		{KindRedraw, "redraw",
			func() ([]byte, error) { return AppendRedraw(nil) },
			func([]byte) ([]byte, error) { return AppendRedraw(nil) }},
		both(KindHistorySub, "history-sub", true, AppendHistorySub, DecodeHistorySub),
		both(KindHistorySub, "history-unsub", false, AppendHistorySub, DecodeHistorySub),
		both(KindCaptureReq, "capture-req", CaptureReq{CaptureAll, 2000, 1 << 20, false, false}, AppendCaptureReq, DecodeCaptureReq),
		both(KindCaptureReq, "capture-req-styled", CaptureReq{What: CaptureScreen, Styled: true}, AppendCaptureReq, DecodeCaptureReq),
		both(KindCaptureReq, "capture-req-wraps", CaptureReq{What: CaptureScreen, Wraps: true}, AppendCaptureReq, DecodeCaptureReq),
		both(KindTheme, "theme", sampleTheme(), AppendTheme, DecodeTheme),
		both(KindHello, "hello", sampleHello(), AppendHello, DecodeHello),
		both(KindHello, "hello-waiting", Hello{
			Version: 5, SessionID: "01234567-89ab-4cde-8fab-0123456789ab",
			InstanceID: "00112233445566778899aabbccddeeff", State: StateWaiting,
			Cols: 1, Rows: 1, Capabilities: []string{},
		}, AppendHello, DecodeHello),
		both(KindOutput, "output", []byte("\x1b[1mhi\x1b[m\r\n\xff"), AppendOutput, raw),
		both(KindReplay, "replay",
			replay{0x0102030405060708, []byte("\x1b[8;24;80t\x1b_sp:h1\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0fold\r\n\x1b[8;24;80t")},
			func(dst []byte, r replay) ([]byte, error) { return AppendReplay(dst, r.watermark, r.stream) },
			func(p []byte) (r replay, err error) { r.watermark, r.stream, err = DecodeReplay(p); return r, err }),
		both(KindReplay, "replay-unavailable", replay{7, []byte{}},
			func(dst []byte, r replay) ([]byte, error) { return AppendReplay(dst, r.watermark, r.stream) },
			func(p []byte) (r replay, err error) { r.watermark, r.stream, err = DecodeReplay(p); return r, err }),
		both(KindExit, "exit-code", Exit{ExitCode: pointer(0)}, AppendExit, DecodeExit),
		both(KindExit, "exit-signal", Exit{Signal: "SIGKILL"}, AppendExit, DecodeExit),
		both(KindExit, "exit-unknown", Exit{}, AppendExit, DecodeExit),
		both(KindForeground, "foreground", "vim", AppendForeground, DecodeForeground),
		both(KindHistory, "history", History{1<<63 + 5, 4096, []byte("\x1b[31mred\x1b[m\r\n")}, AppendHistory, DecodeHistory),
		both(KindHistory, "history-anchor", History{9, 4110, []byte{}}, AppendHistory, DecodeHistory),
		both(KindHistoryWipe, "history-wipe", uint64(1<<63+6), AppendHistoryWipe, DecodeHistoryWipe),
		both(KindCapture, "capture",
			Capture{
				Cols: 5, Rows: 2, Cursor: CaptureCursor{Row: 1, Visible: true}, Title: "sh", Watermark: 70,
				Screen: []string{"ready", ""}, StyledScreen: []string{}, History: []string{"before"}, StyledHistory: []string{}, Clipped: true,
			}, AppendCapture, DecodeCapture),
		both(KindCapture, "capture-styled",
			Capture{
				Cols: 3, Rows: 1, Alternate: true, Cursor: CaptureCursor{Col: 2, PendingWrap: true}, Modes: CaptureModes{true, true, 1002, true},
				Watermark: 1 << 53, Screen: []string{"abc"}, StyledScreen: []string{"\x1b[0;31mabc\x1b[0m"}, History: []string{}, StyledHistory: []string{},
			}, AppendCapture, DecodeCapture),
		both(KindCapture, "capture-wraps",
			Capture{
				Cols: 3, Rows: 1, Screen: []string{"g"}, StyledScreen: []string{}, History: []string{"abc", "def"}, StyledHistory: []string{},
				ScreenWraps: []int{0}, HistoryWraps: []int{1},
			}, AppendCapture, DecodeCapture),
		both(KindCapture, "capture-oversize",
			Capture{Cols: 1, Rows: 1, Screen: []string{}, StyledScreen: []string{}, History: []string{}, StyledHistory: []string{}, Oversize: true},
			AppendCapture, DecodeCapture),
		both(KindNotice, "notice-title", Notice{Kind: NoticeTitle, Text: "~/src: make \u2713"}, AppendNotice, DecodeNotice),
		both(KindNotice, "notice-bell", Notice{Kind: NoticeBell}, AppendNotice, DecodeNotice),
		both(KindNotice, "notice-size", Notice{Kind: NoticeSize, Cols: 80, Rows: 24}, AppendNotice, DecodeNotice),
		both(KindNotice, "notice-control", Notice{Kind: NoticeControl, Text: "phone", Mine: true}, AppendNotice, DecodeNotice),
	}
}

// readHex reads an annotated hex file: what follows a # is for people.
func readHex(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		code, _, _ := strings.Cut(line, "#")
		for _, field := range strings.Fields(code) {
			digits.WriteString(field)
		}
	}
	frame, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return frame
}

func TestGoldenFramesPinEveryKind(t *testing.T) {
	pinned := map[Kind]bool{}
	files := map[string]bool{}
	for _, x := range exchanges() {
		pinned[x.kind] = true
		name := "v5-" + x.file + ".hex"
		files[name] = true
		t.Run(name, func(t *testing.T) { checkGolden(t, x, readHex(t, filepath.Join("testdata", name))) })
	}
	for _, s := range Kinds() {
		if !pinned[s.Kind] {
			t.Errorf("no golden frame for %s", s.Name)
		}
	}
	entries, err := filepath.Glob(filepath.Join("testdata", "*.hex"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !files[filepath.Base(entry)] {
			t.Errorf("%s is read by no test", entry)
		}
	}
}

func checkGolden(t *testing.T, x exchange, golden []byte) {
	frame, err := x.encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(frame, golden) {
		t.Fatalf("encoded\n%s\ngolden\n%s", hex.Dump(frame), hex.Dump(golden))
	}
	s, _ := Lookup(x.kind)
	k, payload, err := NewReader(bytes.NewReader(golden), s.Dir).Next()
	if err != nil || k != x.kind {
		t.Fatalf("read %v, %v", k, err)
	}
	again, err := x.again(payload)
	if err != nil {
		t.Fatal(err)
	}
	if x.kind == KindInput || x.kind == KindOutput {
		again, err = AppendFrame(nil, x.kind, payload)
	}
	if err != nil || !bytes.Equal(again, golden) {
		t.Fatalf("decoded and encoded again\n%s\n(%v)", hex.Dump(again), err)
	}
}
