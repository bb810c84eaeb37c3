// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"slices"
	"testing"
	"time"
)

func TestProcessorsFollowTheOutput(t *testing.T) {
	var asked []int
	p := processors{set: func(n int) int { asked = append(asked, n); return 0 }}
	at := time.Unix(1_700_000_000, 0)
	p.begin()
	for _, step := range []struct {
		after time.Duration
		bytes int
		want  []int // asked for by now
	}{
		{0, 1, []int{1}},
		{0, burstBytes - 1, []int{1}},
		{0, burstBytes, []int{1, 2}},
		{0, strideBytes, []int{1, 2}},
		{calmAfter - 1, 1, []int{1, 2}}, // a pause in a flood
		{0, burstBytes, []int{1, 2}},
		{calmAfter, 1, []int{1, 2, 1}},
		{time.Hour, 1, []int{1, 2, 1}},
		{0, burstBytes, []int{1, 2, 1, 2}},
	} {
		at = at.Add(step.after)
		p.took(step.bytes, at)
		if !slices.Equal(asked, step.want) {
			t.Fatalf("%d bytes after %v: asked for %v, want %v", step.bytes, step.after, asked, step.want)
		}
	}
}

// Where others share the process, a worker leaves the runtime alone.
func TestProcessorsOfOthersAreLeftAlone(t *testing.T) {
	var p processors
	p.begin()
	p.took(strideBytes, time.Unix(1_700_000_000, 0))
}

func TestTheLoopSaysWhatItTakes(t *testing.T) {
	w := still(t)
	var asked []int
	w.processors.set = func(n int) int { asked = append(asked, n); return 0 }
	w.processors.begin()
	for range 2 {
		n := copy(w.ring.room(nil), make([]byte, burstBytes))
		w.ring.put(n)
		w.takeOutput()
	}
	if !slices.Equal(asked, []int{processorsCalm, processorsMax}) {
		t.Errorf("asked for %v", asked)
	}
}
