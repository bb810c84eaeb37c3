// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"strings"
	"testing"
)

// A queue that grows must not leave what it held in memory that nobody owns, however little room there was.
func TestFramesLeaveNoCopyWhereTheyMove(t *testing.T) {
	text := bytes.Repeat([]byte("t"), 3000)
	for name, appendTo := range map[string]func(dst []byte) ([]byte, error){
		"INPUT":        func(dst []byte) ([]byte, error) { return AppendInput(dst, text) },
		"OUTPUT":       func(dst []byte) ([]byte, error) { return AppendOutput(dst, text) },
		"REPLAY":       func(dst []byte) ([]byte, error) { return AppendReplay(dst, 1, text, text) },
		"HISTORY":      func(dst []byte) ([]byte, error) { return AppendHistory(dst, History{1, 2, text}) },
		"HISTORY_WIPE": func(dst []byte) ([]byte, error) { return AppendHistoryWipe(dst, 1) },
		"NOTICE": func(dst []byte) ([]byte, error) {
			return AppendNotice(dst, Notice{Kind: NoticeTitle, Text: strings.Repeat(`"`, NoticeTextMax)})
		},
		"FOREGROUND": func(dst []byte) ([]byte, error) {
			return AppendForeground(dst, strings.Repeat("\U0001F600", ForegroundRunesMax))
		},
		"CAPTURE": func(dst []byte) ([]byte, error) {
			return AppendCapture(dst, Capture{Cols: 80, Rows: 1, Screen: []string{strings.Repeat(`"`, 500)}})
		},
	} {
		whole, err := appendTo(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for spare := range len(whole) + 1 {
			old := append(make([]byte, 0, 100+spare), bytes.Repeat([]byte{'M'}, 100)...)
			now, err := appendTo(old)
			if err != nil || string(now[:100]) != strings.Repeat("M", 100) || !bytes.Equal(now[100:], whole) {
				t.Fatalf("%s: %d bytes, %v", name, len(now), err)
			}
			if &old[0] != &now[0] && bytes.IndexByte(old, 'M') >= 0 {
				t.Fatalf("%s: with room for %d bytes, a copy stays behind", name, spare)
			}
		}
	}
}
