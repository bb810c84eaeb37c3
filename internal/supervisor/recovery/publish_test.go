// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// fitFile is the file that is written of c, and what is left of c in it.
func fitFile(c Checkpoint, bytesMax int) ([]byte, Checkpoint, error) {
	c, size, err := fit(c, bytesMax)
	if err != nil {
		return nil, c, err
	}
	out := bytes.NewBuffer(make([]byte, 0, size))
	if err := c.encode(out, Format3); err != nil || out.Len() != size {
		return nil, c, errors.Join(err, fmt.Errorf("a file of %d bytes was to have %d", out.Len(), size))
	}
	return out.Bytes(), c, nil
}

// A checkpoint is as large as all its text, which is in memory already: little is allocated to write it.
func TestPublishAllocatesLittleBesideTheText(t *testing.T) {
	w := newWorld(vfs.OS{}, t.TempDir())
	p := on(3)
	p.MaxBytes = FileBytesMax
	s := w.start(t, p)
	const panes, text = 64, 256 << 10
	c := body(w.now, panes, strings.Repeat(`some "text" `, text/12))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done, err := s.Publish(context.Background(), c)
	runtime.ReadMemStats(&after)
	must(t, err, done.Prune)
	if done.TextPanes != panes {
		t.Fatalf("text of %d panes", done.TextPanes)
	}
	entries, err := s.List()
	must(t, err)
	size := entries[0].Bytes
	if took := int64(after.TotalAlloc - before.TotalAlloc); size < panes*text || took > size/2 { // more than a second copy would take; the race detector adds a tenth
		t.Errorf("%d bytes were allocated to write %d", took, size)
	}
	if entries[0].Status != StatusValid || entries[0].TextPanes != panes || entries[0].Running != panes {
		t.Errorf("listed %+v", entries[0])
	}
	again := w.start(t, p) // it decodes what the other one only compared
	other, err := again.List()
	must(t, err)
	if len(other) != 1 || other[0] != entries[0] {
		t.Errorf("after a restart %+v, before it %+v", other, entries)
	}
}
