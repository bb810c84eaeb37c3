// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"spawn/internal/sessiond/vfs"
)

// What comes back from the disk decides, not what was written: a checkpoint that reads otherwise pushes out no older one.
func TestACheckpointThatReadsOtherwiseIsNotTakenForValid(t *testing.T) {
	files := &garbling{FS: vfs.NewCrash()}
	w := newWorld(files, "")
	s := w.start(t, on(1))
	w.publish(t, s, 1, "first")
	files.garble = lastByte
	w.publish(t, s, 1, "second")
	files.garble = nil
	if got := shown(t, s); got != "1:valid 0:corrupt" {
		t.Errorf("listed %s", got)
	}
}

// A checkpoint that reads as damaged may read right later. Whatever was published in between, by the same daemon or
// by the next one, is of another generation.
func TestAGenerationThatWasGarbledIsNotGivenOutAgain(t *testing.T) {
	for name, garble := range map[string]func([]byte){"legible": lastByte, "illegible": everyByte} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %t", name, restart), func(t *testing.T) {
				inner := vfs.NewCrash()
				w := newWorld(inner, "")
				s := w.start(t, on(9))
				w.publish(t, s, 1, "")
				w.files = &garbling{FS: inner, garble: garble}
				s = w.start(t, on(9)) // reads the first as damaged already
				w.publish(t, s, 1, "")
				if restart {
					s = w.start(t, on(9))
				}
				w.publish(t, s, 1, "")
				w.files = inner
				entries, err := w.start(t, on(9)).List()
				must(t, err)
				if len(entries) != 3 {
					t.Errorf("listed %+v", entries)
				}
				for _, e := range entries {
					if e.Status != StatusValid {
						t.Errorf("generation %d is %s", e.Generation, e.Status)
					}
				}
			})
		}
	}
}

// What a damaged file shows counts, however much has been forgotten since.
func TestTheGenerationOfADamagedFileCounts(t *testing.T) {
	inner := vfs.NewCrash()
	w := newWorld(inner, "")
	s := w.start(t, on(9))
	w.publish(t, s, 1, "")
	second, third := w.publish(t, s, 1, ""), w.publish(t, s, 1, "")
	w.publish(t, s, 1, "")
	must(t, s.Forget(second.ID), s.Forget(third.ID))
	w.files = &garbling{FS: inner, garble: lastByte}
	if next := w.publish(t, w.start(t, on(9)), 1, ""); next.Generation != 5 {
		t.Errorf("published %+v", next)
	}
}

// A rename that failed may have happened all the same. Its generation is used, whether the file is there or not.
func TestAGenerationOfUnknownOutcomeIsNotGivenOutAgain(t *testing.T) {
	unknown := 0
	for at, struck := 1, true; struck; at++ {
		files, w := prepare(t)
		faulty := &vfs.Faulty{FS: files}
		w.files = &garbling{FS: faulty, garble: everyByte}
		s := w.start(t, on(9))
		w.files = faulty
		faulty.Fault = vfs.Fault{At: faulty.Calls() + at, Mode: vfs.FailDone, Err: syscall.EIO, On: true}
		_, err := s.Publish(context.Background(), body(w.now, 1, ""))
		struck = faulty.Struck()
		if faulty.Fault = (vfs.Fault{}); !errors.Is(err, ErrUnknown) {
			continue
		}
		unknown++
		w.publish(t, s, 1, "")
		noTwins(t, w, files)
	}
	if unknown == 0 {
		t.Error("no outcome was unknown")
	}
}

// Forgetting the newest does not give its number to another, as long as this daemon runs.
func TestAForgottenGenerationIsNotGivenOutAgain(t *testing.T) {
	w := newWorld(vfs.NewCrash(), "")
	s := w.start(t, on(9))
	w.publish(t, s, 1, "")
	must(t, s.Forget(w.publish(t, s, 1, "").ID))
	if next := w.publish(t, s, 1, ""); next.Generation != 3 {
		t.Errorf("published %+v", next)
	}
}

// What cannot be read at a start may have any generation that was given out, however far above those that are shown.
func TestAGenerationThatCouldNotBeReadIsNotGivenOutAgain(t *testing.T) {
	disk := &garbling{FS: vfs.NewCrash()}
	w := newWorld(disk, "")
	s := w.start(t, on(3))
	w.publish(t, s, 34, "") // those that follow are its remnants, so it stays
	var last []string
	for range 10 {
		last = append(last, w.publish(t, s, 1, "").ID+finalEnd)
	}
	disk.broken = func(name string) bool { return slices.Contains(last, name) }
	s = w.start(t, on(3))
	if got := shown(t, s); got != "1:valid 0:unsafe 0:unsafe" {
		t.Fatalf("listed %s", got)
	}
	for range 8 { // as many as there would be to the last one, if numbers went on behind those that are shown
		_, err := s.Publish(context.Background(), body(w.now, 1, ""))
		must(t, err)
	}
	disk.broken = nil
	entries, err := w.start(t, on(9)).List()
	must(t, err)
	if len(entries) != 5 {
		t.Errorf("listed %+v", entries)
	}
	for _, e := range entries {
		if e.Status != StatusValid {
			t.Errorf("generation %d is %s", e.Generation, e.Status)
		}
	}
}

func TestTheGenerationThatADamagedFileShows(t *testing.T) {
	for raw, want := range map[string]int64{
		`{"format":9,"payload":"{\"checkpoint\":\"c\",\"generation\":12,`: 12,
		`\"generation\":12`: 12,
		`\"generation\":0,`: 0,
		fmt.Sprintf(`\"generation\":%d,`, int64(shownMax)):   shownMax,
		fmt.Sprintf(`\"generation\":%d,`, int64(shownMax)+1): 0,
		`\"generation\":` + strings.Repeat("9", 99) + `,`:    0,
		`\"generation\":-1,`:     0,
		`\"generation\":,`:       0,
		`\\\"generation\\\":12,`: 0, // within a text
		`"generation":12,`:       0,
		"":                       0,
	} {
		if got := shownGeneration([]byte(raw)); got != want {
			t.Errorf("%s shows %d, want %d", raw, got, want)
		}
	}
}
