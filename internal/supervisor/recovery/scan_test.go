// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// allocated is how many bytes run allocates.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A file that is longer than the setting allows is not held, however long it is.
func TestAListingHoldsNoFileThatIsTooLong(t *testing.T) {
	w := newWorld(vfs.OS{}, t.TempDir())
	p := on(9)
	p.MaxBytes = policyFileBytesMin
	s := w.start(t, p)
	const id = "c01234567-89ab-4cde-8fab-0123456789ab"
	plantFile(t, s, id+finalEnd, []byte(`{"format":3,"payload":"{\"checkpoint\":\"`+id+`\",\"generation\":9,`))
	must(t, os.Truncate(filepath.Join(w.base, "spawn", "recovery", w.id.Key(), id+finalEnd), 60<<20))
	var entries []Entry
	var listErr, readErr error
	took := allocated(func() {
		entries, listErr = s.List()
		_, readErr = s.Read(id)
	})
	must(t, listErr)
	if len(entries) != 1 || entries[0].Status != StatusIncompatible || !errors.Is(readErr, ErrSize) {
		t.Errorf("listed %+v, read: %v", entries, readErr)
	}
	if took > 1<<20 {
		t.Errorf("%d bytes were allocated to look at it", took)
	}
	if next := w.publish(t, s, 1, ""); next.Generation != 10 {
		t.Errorf("published %+v", next)
	}
}

// What is beyond a bound is listed as that, told as that, and costs no more than its own length a few times over.
func TestWhatIsBeyondABoundIsIncompatible(t *testing.T) {
	payload := payloadOf(t, fixture(t, "full-format-3.json"))
	var sessions strings.Builder
	for i := range ResourcesMax {
		fmt.Fprintf(&sessions, `{"session":"s%d","name":"x"},`, i+10)
	}
	tags := strings.Repeat(`{"key":"a","value":""},`, 16) + `{"key":"z","value":""}`
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(9))
	n := 0
	for name, beyond := range map[string]string{
		"count": strings.Replace(payload, `{"session":"s9","name":"idle"}`, strings.TrimSuffix(sessions.String(), ","), 1),
		"depth": strings.Replace(payload, `"uid":1000`, `"uid":`+strings.Repeat("[", 40)+strings.Repeat("]", 40), 1),
		"tags":  strings.Replace(payload, tagsOfP1, `"tags":[`+tags+`]`, 1),
		"rows":  strings.Replace(payload, `"history":[]`, `"history":[`+strings.Repeat(`"",`, textRowsMax)+`""]`, 1),
	} {
		if beyond == payload {
			t.Fatalf("%s: nothing was changed", name)
		}
		n++
		id := fmt.Sprintf("c%08x-89ab-4cde-8fab-0123456789ab", n)
		file := wrap(t, beyond, Format3)
		plantFile(t, s, id+finalEnd, file)
		var entries []Entry
		var listErr, readErr error
		took := allocated(func() {
			entries, listErr = s.List()
			_, readErr = s.Read(id)
		})
		must(t, listErr)
		if len(entries) != 1 || entries[0].Status != StatusIncompatible || !errors.Is(readErr, ErrSize) {
			t.Errorf("%s: listed %+v, read: %v", name, entries, readErr)
		}
		if most := uint64(24*len(file) + 16<<20); took > most { // twice what one reading may take
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, took, len(file))
		}
		must(t, s.Forget(id))
	}
}
