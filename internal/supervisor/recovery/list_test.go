// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"io"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"spawn/internal/strictjson"
)

// list is a list of rows that are known to be plain.
func list(rows ...string) List {
	l, err := ListOf(rows)
	if err != nil {
		panic(err)
	}
	return l
}

// A list is spelt as JSON lists strings, and is read from that spelling alone.
func TestAListIsSpeltInOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune(`ab,"\[]/<é¢世😀`+"\u2028\u00a0 "))), 0, 5).Draw(t, "rows")
		l := list(rows...)
		want, err := strictjson.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := strictjson.Marshal(l); err != nil || string(got) != string(want) {
			t.Fatalf("%q is spelt %s, want %s (%v)", rows, got, want, err)
		}
		size := 0
		for _, row := range rows {
			size += len(row)
		}
		var back List
		if err := strictjson.Unmarshal(want, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, l) || !slices.Equal(back.Rows(), rows) || back.Len() != len(rows) || back.Bytes() != size || back.IsZero() {
			t.Fatalf("%s is read as %+v, want %+v", want, back, l)
		}
	})
}

func TestAListHasNoOtherSpelling(t *testing.T) {
	for _, text := range []string{
		``, `[`, `]`, `null`, `{}`, `""`, `[1]`, `[null]`, `[[]]`, `[ ]`, `["a" ]`, `["a", "b"]`, `["a",]`, `[,"a"]`, `["a""b"]`, `["a";"b"]`, `["a"`, `["]`,
		`["\u0061"]`, `["\/"]`, `["\n"]`, `["\u001b"]`, `["\"]`, "[\"\x1b\"]", "[\"\x7f\"]", "[\"\u0085\"]", "[\"\u009b\"]", "[\"\xff\"]", "[\"\xc2\"]", "[\"\xc2\xff\"]", "[\"\xed\xa0\x80\"]",
	} {
		l := list("kept")
		if err := l.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%q is read as %q", text, l.Rows())
		}
		if !slices.Equal(l.Rows(), []string{"kept"}) {
			t.Errorf("%q is refused and changed the list to %q", text, l.Rows())
		}
	}
	for _, row := range []string{"\x1b[m", "a\r", "\u0085", "\x7f", "\xff", "\xc2"} {
		if l, err := ListOf([]string{"a", row}); err == nil || !l.IsZero() {
			t.Errorf("%q is listed as %+v", row, l)
		}
	}
}

// What is left is what a list of the newest rows alone is.
func TestNewestRowsOfAList(t *testing.T) {
	rows := []string{"", `a"\`, "世", "last", ""}
	l := list(rows...)
	for rowsMax := -1; rowsMax <= len(rows)+1; rowsMax++ {
		for bytesMax := -1; bytesMax <= l.Bytes()+1; bytesMax++ {
			from, size := len(rows), 0
			for from > 0 && len(rows)-from < rowsMax && size+len(rows[from-1]) <= bytesMax {
				from--
				size += len(rows[from])
			}
			if got, want := l.Newest(rowsMax, bytesMax), list(rows[from:]...); !reflect.DeepEqual(got, want) {
				t.Errorf("%d rows of %d bytes are %q, want %q", rowsMax, bytesMax, got.Rows(), want.Rows())
			}
		}
	}
}

// The memory of a list is as long as it has to be, whatever is escaped in it.
func TestAListHoldsNothingButItsRows(t *testing.T) {
	l := list(slices.Repeat([]string{`some "text" \`, ""}, 10_000)...)
	if spare := cap(l.spelt) - len(l.spelt); spare > len(",") {
		t.Errorf("%d bytes of memory for a list of %d", cap(l.spelt), len(l.spelt))
	}
}

// A long history is neither copied nor spelt again between a capture and its file: what is made on the way does
// not grow with the text.
func TestAHistoryIsWrittenAsItIsHeld(t *testing.T) {
	v := full10k()
	text := 0
	for _, rows := range v.rows {
		text += rows.Len()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := Capture(v, ShutdownOpen, on(1))
	c.ID, c.Generation, c.Socket = "c01234567-89ab-4cde-8fab-0123456789ab", 1, "/s"
	c, _, err := fit(c, FileBytesMax)
	must(t, err, c.encode(io.Discard, Format3))
	runtime.ReadMemStats(&after)
	if spent := int(after.TotalAlloc - before.TotalAlloc); spent > 4*text/len(v.rows) {
		t.Errorf("%d bytes allocated to write %d panes with %d bytes of text", spent, len(v.rows), text)
	}
}
