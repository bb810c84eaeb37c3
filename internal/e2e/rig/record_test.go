// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// half takes as many bytes as it has room for, as a terminal does whose other end is killed.
type half struct{ room int }

var errGone = errors.New("gone")

func (h *half) Write(p []byte) (int, error) {
	n := min(h.room, len(p))
	if h.room -= n; n < len(p) {
		return n, errGone
	}
	return n, nil
}

// Whatever a generator had come to, its record says how far, and with which bytes; also beyond a window of the sum.
func TestRecordTellsWhatWasWritten(t *testing.T) {
	s := Script{Seed: 7, Wipes: 5}
	const burst = 1 << 20
	for _, room := range []int{1, burst, burst + LineBytes/2, recordWindow - 1, recordWindow, recordWindow + burst + 1} {
		path := filepath.Join(t.TempDir(), "record")
		if r, err := readRecord(path); err != nil || r != (Record{}) {
			t.Fatalf("before the first byte: %+v, %v", r, err)
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := &recorder{w: &half{room}, file: file}
		for at := uint64(0); err == nil; at += burst {
			_, err = w.Write(s.bytes(at, burst))
		}
		_ = file.Close()
		r, readErr := readRecord(path)
		if !errors.Is(err, errGone) || readErr != nil || r.Written != uint64(room) || r.Begun != uint64(room/burst+1)*burst {
			t.Errorf("of %d bytes the record is %d of %d, %v, %v", room, r.Written, r.Begun, err, readErr)
		}
		if err := r.check(s); err != nil {
			t.Errorf("%d bytes: %v", room, err)
		}
		r.Sum[0] ^= 1
		if r.check(s) == nil || (Record{Written: 2, Begun: 1}).check(s) == nil {
			t.Errorf("%d bytes: another sum passes", room)
		}
	}
}

// The generator's lines are the script's bytes, each as long as the others, and no two the same.
func TestGeneratorWritesItsScript(t *testing.T) {
	for _, s := range []Script{{Seed: 1}, {Seed: 2, Wipes: 3}} {
		var out bytes.Buffer
		g := generator{Script: s, w: &out}
		if err := errors.Join(g.write(headBurst+7), g.write(0), g.write(1)); err != nil {
			t.Fatal(err)
		}
		const lines = headBurst + 8
		if !bytes.Equal(out.Bytes(), s.bytes(0, lines*LineBytes)) || out.Len() != lines*LineBytes {
			t.Fatalf("%d bytes of %d lines are not the script's", out.Len(), lines)
		}
		for at := uint64(1); at < 3*LineBytes; at += 7 {
			if want := out.Bytes()[at:][:100]; !bytes.Equal(s.bytes(at, 100), want) {
				t.Errorf("at %d is %q, want %q", at, s.bytes(at, 100), want)
			}
		}
		seen := map[string]bool{}
		for _, line := range bytes.SplitAfter(out.Bytes(), []byte("\n")) {
			if seen[string(line)] || len(line) != LineBytes && len(line) != 0 {
				t.Errorf("line %q", line)
			}
			seen[string(line)] = true
		}
	}
	if (bytes.Equal(Script{Seed: 1}.shown(5), Script{Seed: 2}.shown(5))) {
		t.Error("two scripts write the same")
	}
}
