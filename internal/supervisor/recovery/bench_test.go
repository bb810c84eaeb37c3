// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// thousand is a snapshot of a thousand panes with a screen each.
func thousand() view {
	v := view{at: noon, sessions: []Session{{"s0", "work"}}, windows: []Window{{"w0", "s0", "", 1, nil}}, rows: map[string]Rows{}}
	for i := range 1000 {
		id := fmt.Sprintf("p%d", i)
		v.panes = append(v.panes, PaneFacts{ID: id, Window: "w0", Session: "s0", Cols: 80, Rows: 24, Running: true, Float: &Float{Z: int64(i) + 1}})
		rows := Rows{}
		for range 24 {
			rows.Screen = append(rows.Screen, strings.Repeat("text ", 12))
		}
		v.rows[id] = rows
	}
	return v
}

// full10k is a snapshot of as many panes with 10,000 rows each as the largest file takes.
func full10k() view {
	v := view{at: noon, sessions: []Session{{"s0", "work"}}, windows: []Window{{"w0", "s0", "", 1, nil}}, rows: map[string]Rows{}}
	history := slices.Repeat([]string{strings.Repeat(`some "text" `, 6)}, 10_000-24)
	for i := range 80 {
		id := fmt.Sprintf("p%d", i)
		v.panes = append(v.panes, PaneFacts{ID: id, Window: "w0", Session: "s0", Cols: 80, Rows: 24, Running: true, Float: &Float{Z: int64(i) + 1}})
		v.rows[id] = Rows{Screen: history[:24], History: list(history...)}
	}
	return v
}

// BenchmarkFitLongHistories encodes what fits of more text than a file may have.
func BenchmarkFitLongHistories(b *testing.B) {
	c := Capture(full10k(), ShutdownOpen, on(1))
	c.ID, c.Generation, c.Socket = "c01234567-89ab-4cde-8fab-0123456789ab", 1, "/s"
	file, kept, err := fitFile(c, FileBytesMax)
	must(b, err)
	if textPanes(kept) == textPanes(c) {
		b.Fatal("everything fits")
	}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = fitFile(c, FileBytesMax)
	}
}

// BenchmarkCapture is what happens while the daemon's state must not change.
func BenchmarkCapture(b *testing.B) {
	v := thousand()
	for b.Loop() {
		Capture(v, ShutdownOpen, on(1))
	}
}

func BenchmarkFit(b *testing.B) {
	c := Capture(thousand(), ShutdownOpen, on(1))
	c.ID, c.Generation, c.Socket = "c01234567-89ab-4cde-8fab-0123456789ab", 1, "/s"
	file, _, err := fitFile(c, FileBytesMax)
	must(b, err)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		_, _, _ = fitFile(c, FileBytesMax)
	}
}

func BenchmarkDecode(b *testing.B) {
	c := Capture(thousand(), ShutdownOpen, on(1))
	c.ID, c.Generation, c.Socket = "c01234567-89ab-4cde-8fab-0123456789ab", 1, "/s"
	file, err := Encode(c, FileBytesMax)
	must(b, err)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, _, err := Decode(file, reading); err != nil {
			b.Fatal(err)
		}
	}
}
