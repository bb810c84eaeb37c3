// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// stain is the one character of text in the tests below. Nothing else in a file is it.
const stain = "Q"

// stained is a file with a text of several sectors.
func stained(t testing.TB, w *world, id string) []byte {
	t.Helper()
	c := body(noon, 1, strings.Repeat(stain, 700))
	c.ID, c.Generation, c.Socket, c.UID = id, 7, w.id.Socket, int64(w.id.UID)
	text := &c.Panes[0].Text
	text.History = list(strings.Repeat(stain, 600), stain+`"\`+stain, strings.Repeat(stain, 600))
	file, err := Encode(c, FileBytesMax)
	must(t, err)
	return file
}

// damages calls yield with each file that differs from whole in one stretch: each bit of each byte, and stretches of several
// lengths, blank, taken out, or with the rest of the file.
func damages(whole []byte, yield func(how string, damaged []byte)) {
	for i := range whole {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[i] ^= 1 << bit
			yield(fmt.Sprintf("byte %d, bit %d", i, bit), damaged)
		}
		for _, length := range []int{1, 2, 64, 512, 1024, len(whole)} {
			end := min(len(whole), i+length)
			blank := bytes.Clone(whole)
			clear(blank[i:end])
			yield(fmt.Sprintf("%d bytes from %d blank", length, i), blank)
			yield(fmt.Sprintf("%d bytes from %d gone", length, i), append(bytes.Clone(whole[:i]), whole[end:]...))
		}
	}
}

// Wherever a file is damaged, it counts as one with text as long as any of that is left.
func TestTextIsSeenInADamagedFile(t *testing.T) {
	w := newWorld(nil, "")
	id := "c01234567-89ab-4cde-8fab-0123456789ab"
	damages(stained(t, w, id), func(how string, damaged []byte) {
		if bytes.Contains(damaged, []byte(stain)) && !tracesOf(damaged).text {
			t.Errorf("%s: text is not seen in %q", how, damaged)
		}
	})
}

// A damaged file without text is not taken for one with text, so it stays until somebody forgets it.
func TestNoTextIsSeenWhereThereIsNone(t *testing.T) {
	for name, file := range map[string][]byte{
		"every field":  bytes.ReplaceAll(fixture(t, "example-format-2.json"), []byte("work"), []byte(`a \\\"b\\\" [c]`)),
		"ratios":       fixture(t, "example-format-3.json"),
		"later format": []byte(`{"format":4,"payload":"{\"generation\":4,\"panes\":[{\"text\":{\"availability\":\"omitted\"},\"sizes\":[1,2]}]}"}`),
		"empty":        nil,
		"blank":        make([]byte, 4096),
	} {
		for end := range len(file) + 1 {
			if tracesOf(file[:end]).text {
				t.Errorf("%s: text is seen in %q", name, file[:end])
				break
			}
		}
	}
}

// Text off succeeds only when nothing of a text is left in the folder, whatever became of its file there.
func TestTurningTextOffRemovesWhatIsDamaged(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	const id = "c01234567-89ab-4cde-8fab-0123456789ab"
	whole := stained(t, w, id)
	try := func(how string, damaged []byte) {
		w.files = vfs.NewCrash()
		s := w.start(t, on(9))
		plantFile(t, s, id+finalEnd, damaged)
		err := s.SetPolicy(withoutTexts(9))
		if left := everything(t, w.files); err == nil && strings.Contains(left, stain) {
			t.Errorf("%s: text is left in %q", how, left)
		}
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		try(fmt.Sprintf("byte %d", i), damaged)
	}
	for begin := 0; begin < len(whole); begin += 512 {
		damaged := bytes.Clone(whole)
		clear(damaged[begin:min(len(whole), begin+512)])
		try(fmt.Sprintf("sector at %d", begin), damaged)
		try(fmt.Sprintf("first %d bytes", begin), whole[:begin])
	}
}

// slowly is a file that is read in pieces.
type slowly struct {
	vfs.File
	rest  []byte
	piece int
	fails error // behind the last byte; nil for io.EOF
}

func (f *slowly) Read(_ vfs.Op, p []byte) (int, error) {
	if len(f.rest) == 0 {
		if f.fails != nil {
			return 0, f.fails
		}
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), f.piece)], f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Signs are found wherever they lie, also across what is held of a long file at a time.
func TestALongFileIsSkimmed(t *testing.T) {
	for _, sign := range textSigns {
		if len(sign) > skimOverlap {
			t.Errorf("%s is longer than what is looked at again", sign)
		}
		for _, begin := range []int{0, skimBytes - len(sign) - 1, skimBytes - len(sign), skimBytes - len(sign) + 1, skimBytes - 1, skimBytes, 2*skimBytes - skimOverlap - 1, 3 * skimBytes} {
			file := bytes.Repeat([]byte("x"), 3*skimBytes+100)
			copy(file[begin:], sign)
			for _, piece := range []int{7, 1000, skimBytes} {
				if seen, err := skim(&slowly{rest: file, piece: piece}, int64(len(file))); err != nil || !seen.text {
					t.Errorf("%s at %d in pieces of %d: %+v, %v", sign, begin, piece, seen, err)
				}
			}
		}
	}
	file := append([]byte(`{"format":9,"payload":"{\"generation\":12,`), bytes.Repeat([]byte("x"), 2*skimBytes)...)
	if seen, err := skim(&slowly{rest: file, piece: 1000}, int64(len(file))); err != nil || seen != (traces{generation: 12}) {
		t.Errorf("%+v, %v", seen, err)
	}
	broken := errors.New("broken")
	if _, err := skim(&slowly{rest: file, piece: 1000, fails: broken}, int64(len(file))); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if seen, err := skim(nil, FileBytesMax+1); err != nil || !seen.text {
		t.Errorf("one that is longer than any may be: %+v, %v", seen, err)
	}
}
