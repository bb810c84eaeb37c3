// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"spawn/internal/supervisor/recovery"
)

// However many terminals there are, and however much text they have, no more of it is in memory than a file holds, and what
// was under way when that was full.
func TestNoMoreTextIsAskedForThanAFileHolds(t *testing.T) {
	text := recovery.Rows{
		Screen: slices.Repeat([]string{strings.Repeat("x", 80)}, 24), History: slices.Repeat([]string{strings.Repeat("y", 80)}, 76),
	}
	p := recovery.DefaultPolicy()
	p.Enabled, p.Text, p.MaxBytes = true, recovery.TextModePlain, 10*text.Len()
	var all []*pane
	for i := range 200 {
		a, err := newArchive(recovery.Archive{Cols: 80, Rows: 24, Text: text, Recovery: recovery.Recovery{TextState: recovery.TextPlain}}, func() int { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		a.id = fmt.Sprintf("p%d", i)
		all = append(all, a)
	}
	got := gather(t.Context(), all, p, time.Minute)
	size := 0
	for _, rows := range got {
		size += rows.Len()
	}
	if size <= p.MaxBytes || size > p.MaxBytes+textAskedMax*text.Len() {
		t.Errorf("%d bytes of text are held for a file of %d", size, p.MaxBytes)
	}
	for i := range len(got) {
		if rows, ok := got[fmt.Sprintf("p%d", i)]; !ok || !slices.Equal(rows.Screen, text.Screen) || !slices.Equal(rows.History, text.History) {
			t.Errorf("p%d of %d is not among those that have text, or has another", i, len(got))
		}
	}
}
