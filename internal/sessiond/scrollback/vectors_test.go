// SPDX-License-Identifier: Apache-2.0

//go:build unix

package scrollback

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// The attacks on a log as files, which no code of ours has to be believed to read: a reader in another language can be held
// against them. Each names the key, what memory holds of the log, the files as an attacker left them, and the first record
// that has to be refused. All are of one log of three segments with three records of twelve bytes. -update writes them.
const (
	vectorFolder   = "testdata/attacks"
	vectorSegments = 3
	vectorRecords  = 3
	vectorText     = 12
	vectorLength   = recordOverheadBytes + vectorText
	vectorsMin     = 40
)

// vector is one attack. A nil file is missing; refused 0 says that the replay is whole.
type vector struct {
	name    string
	files   [vectorSegments][]byte
	refused uint64
}

func vectorSeq(segment, record int) uint64 { return uint64(segment*vectorRecords+record) + 1 }

// soundFiles seals the log under a key.
func soundFiles(t *testing.T, key byte) (files [vectorSegments][]byte) {
	fixedKey[0] ^= key
	defer func() { fixedKey[0] ^= key }()
	for s := range files {
		for r := range vectorRecords {
			seq := vectorSeq(s, r)
			files[s] = append(files[s], forge(t, kindHistory, seq, seq, fmt.Sprintf("%0*d\r\n", vectorText-2, seq))...)
		}
	}
	return files
}

// attacks makes every vector.
func attacks(t *testing.T) (all []vector) {
	sound := soundFiles(t, 0)
	record := func(s, r int) []byte { return sound[s][r*vectorLength : (r+1)*vectorLength] }
	add := func(refused uint64, segment int, b []byte, format string, args ...any) {
		files := sound
		files[segment] = b
		all = append(all, vector{fmt.Sprintf(format, args...), files, refused})
	}
	with := func(s, r int, b []byte) []byte {
		return slices.Concat(sound[s][:r*vectorLength], b, sound[s][(r+1)*vectorLength:])
	}

	all = append(all, vector{"sound", sound, 0})
	for _, s := range []int{0, vectorSegments - 1} {
		for _, place := range []struct {
			name    string
			at, bit int
		}{
			{"length", 0, 0}, {"length-high", 3, 7}, {"kind", 4, 0}, {"seq", 5, 1}, {"seq-high", 12, 7},
			{"text", HeaderBytes, 0}, {"text-end", HeaderBytes + vectorText - 1, 7}, {"tag", HeaderBytes + vectorText, 0}, {"tag-end", vectorLength - 1, 7},
		} {
			b := slices.Clone(sound[s])
			b[vectorLength+place.at] ^= 1 << place.bit
			add(vectorSeq(s, 1), s, b, "flip-%s-segment-%d", place.name, s+1)
		}
		for name, at := range map[string]int{
			"everything": 0, "in-header": 5, "behind-header": HeaderBytes, "in-text": HeaderBytes + 3, "in-tag": vectorLength - 1,
			"behind-record": vectorLength, "last-byte": vectorRecords*vectorLength - 1,
		} {
			add(vectorSeq(s, at/vectorLength), s, append([]byte{}, sound[s][:at]...), "cut-%s-segment-%d", name, s+1)
		}
		for r := range vectorRecords {
			add(vectorSeq(s, r), s, with(s, r, nil), "drop-record-%d-segment-%d", r+1, s+1)
		}
		add(vectorSeq(s, 2), s, with(s, 1, slices.Concat(record(s, 1), record(s, 1))), "double-record-segment-%d", s+1)
		add(vectorSeq(s, 0), s, slices.Concat(record(s, 1), record(s, 0), record(s, 2)), "swap-records-segment-%d", s+1)
		for name, garbage := range map[string][]byte{"zero": {0}, "header": make([]byte, HeaderBytes), "record": record(1, 0)} {
			add(vectorSeq(s+1, 0), s, slices.Concat(sound[s], garbage), "behind-the-end-%s-segment-%d", name, s+1)
		}
		add(vectorSeq(s, 0), s, nil, "missing-segment-%d", s+1)
		add(vectorSeq(s, 0), s, soundFiles(t, 1)[s], "another-key-segment-%d", s+1)
	}
	add(vectorSeq(1, 0), 1, nil, "missing-segment-2")
	add(vectorSeq(2, 0), 2, sound[1], "older-segment-over-newest")
	add(vectorSeq(0, 0), 0, sound[2], "newest-segment-over-oldest")
	all = append(all, vector{"swap-segments", [vectorSegments][]byte{sound[1], sound[0], sound[2]}, vectorSeq(0, 0)})
	swapped := vector{"swap-records-of-two-segments", sound, vectorSeq(0, 1)}
	swapped.files[0], swapped.files[2] = with(0, 1, record(2, 1)), with(2, 1, record(0, 1))
	all = append(all, swapped)

	last := vectorSeq(2, 2)
	text := fmt.Sprintf("%0*d\r\n", vectorText-2, last)
	for name, b := range map[string][]byte{
		"kind-0": forge(t, 0, last, last, text), "kind-2": forge(t, 2, last, last, text), "kind-129": forge(t, 129, last, last, text),
		"number-before": forge(t, kindHistory, last-1, last, text), "nonce-before": forge(t, kindHistory, last, last-1, text),
		"text-longer": forge(t, kindHistory, last, last, text+"x"), "text-shorter": forge(t, kindHistory, last, last, text[1:]),
		"no-text": forge(t, kindHistory, last, last, ""),
	} {
		add(last, 2, with(2, 2, b), "sealed-with-the-key-%s", name)
	}
	return all
}

// write makes the vector's file.
func (v vector) write(t *testing.T) {
	out := new(bytes.Buffer)
	fmt.Fprintf(out, "# %s\nkey %x\n", strings.ReplaceAll(v.name, "-", " "), fixedKey)
	if v.refused == 0 {
		fmt.Fprintln(out, "accepted")
	} else {
		fmt.Fprintf(out, "refused %d\n", v.refused)
	}
	for s := range vectorSegments {
		fmt.Fprintf(out, "memory %d %d %d %d # file, first and last record, bytes of text\n", s+1, vectorSeq(s, 0), vectorSeq(s, vectorRecords-1), vectorRecords*vectorText)
	}
	for s, b := range v.files {
		if b == nil {
			continue
		}
		fmt.Fprintf(out, "\nfile %d\n", s+1)
		for part := range slices.Chunk(b, 16) {
			fmt.Fprintf(out, "% x\n", part)
		}
	}
	must(t, os.MkdirAll(vectorFolder, 0o755), os.WriteFile(filepath.Join(vectorFolder, v.name+".hex"), out.Bytes(), 0o644))
}

// replayVector makes a log of what a file says, and returns what a replay of it says, and what has to be refused.
func replayVector(t *testing.T, path string) (out, dst []byte, err error, refused uint64) {
	t.Helper()
	l := newLog(t, vfs.OS{}, Options{})
	text, failed := os.ReadFile(path)
	must(t, failed)
	files, in := map[string][]byte{}, ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		number := func(i int) int64 {
			n, failed := strconv.ParseInt(words[i], 10, 64)
			must(t, failed)
			return n
		}
		switch words[0] {
		case "key":
			if words[1] != hex.EncodeToString(fixedKey[:]) {
				t.Fatalf("%s is of another key", path)
			}
		case "accepted":
		case "refused":
			refused = uint64(number(1))
		case "memory":
			seg := segment{slot: int32(number(1)), first: uint64(number(2)), last: uint64(number(3)), plain: number(4)}
			l.segments = append(l.segments, seg)
			l.next = seg.last + 1
		case "file":
			in = segment{slot: int32(number(1))}.name()
			files[in] = []byte{}
		default:
			part, failed := hex.DecodeString(strings.Join(words, ""))
			must(t, failed)
			files[in] = append(files[in], part...)
		}
	}
	for name, b := range files {
		must(t, os.WriteFile(filepath.Join(folderOf(l), name), b, 0o600))
	}
	l.record = make([]byte, l.recordBytes+recordOverheadBytes)
	dst = append(make([]byte, 0, 4096), "head"...)
	for i := range dst[:cap(dst)][len(dst):] {
		dst[:cap(dst)][len(dst)+i] = 0xEE
	}
	out, err = l.AppendReplay(dst, MaxLogBytes)
	return out, dst, err, refused
}

func TestAttackVectors(t *testing.T) {
	made := attacks(t)
	if *update {
		must(t, os.RemoveAll(vectorFolder))
		for _, v := range made {
			v.write(t)
		}
	}
	paths, err := filepath.Glob(filepath.Join(vectorFolder, "*.hex"))
	must(t, err)
	if len(paths) != len(made) || len(paths) < vectorsMin {
		t.Fatalf("%d files for %d attacks, at least %d", len(paths), len(made), vectorsMin)
	}
	whole := ""
	for seq := range vectorSegments * vectorRecords {
		whole += fmt.Sprintf("%0*d\r\n", vectorText-2, seq+1)
	}
	for _, path := range paths {
		out, dst, err, refused := replayVector(t, path)
		var damage *DamageError
		switch errors.As(err, &damage); {
		case refused == 0:
			if err != nil || string(out) != "head"+whole {
				t.Errorf("%s: %q, %v", path, out, err)
			}
		case damage == nil || damage.Seq != refused || string(out) != "head":
			t.Errorf("%s: returned %q, %v, want record %d refused", path, out, err, refused)
		case bytes.Count(dst[:cap(dst)][len(dst):][:len(whole)], []byte{0}) != len(whole):
			t.Errorf("%s: what had been opened is not wiped", path)
		}
	}
}
