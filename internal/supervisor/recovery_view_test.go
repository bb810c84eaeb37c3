// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/supervisor/recovery"
)

// However many terminals there are, and however much text they have, no more of it is in memory than a file holds, and what
// was under way when that was full.
func TestNoMoreTextIsAskedForThanAFileHolds(t *testing.T) {
	history, err := recovery.ListOf(slices.Repeat([]string{strings.Repeat("y", 80)}, 76))
	if err != nil {
		t.Fatal(err)
	}
	text := recovery.Rows{Screen: slices.Repeat([]string{strings.Repeat("x", 80)}, 24), History: history}
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
	got := gather(t.Context(), all, (*pane).text, p, time.Minute)
	size := 0
	for _, rows := range got {
		size += rows.Len()
	}
	if size <= p.MaxBytes || size > p.MaxBytes+textAskedMax*text.Len() {
		t.Errorf("%d bytes of text are held for a file of %d", size, p.MaxBytes)
	}
	for i := range len(got) {
		if rows, ok := got[fmt.Sprintf("p%d", i)]; !ok || !slices.Equal(rows.Screen, text.Screen) || !slices.Equal(rows.History.Rows(), history.Rows()) {
			t.Errorf("p%d of %d is not among those that have text, or has another", i, len(got))
		}
	}
}

// One terminal answers at a time, so that the machine has a processor for their programs. One that does not answer keeps its turn
// for a bounded time, and the others are heard all the same.
func TestTerminalsAnswerOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const terminals, takes = 100, 10 * time.Millisecond
		var (
			all            []*pane
			asked, working atomic.Int32
			heard          atomic.Int64 // after how long the last was
		)
		for i := range terminals {
			all = append(all, &pane{id: fmt.Sprintf("p%d", i)})
		}
		mute := []*pane{all[3], all[40]}
		begun := time.Now()
		ask := func(p *pane, ctx context.Context, _ recovery.Policy) (recovery.Rows, bool) {
			asked.Add(1)
			if slices.Contains(mute, p) {
				<-ctx.Done()
				return recovery.Rows{}, false
			}
			if n := working.Add(1); n > 1 {
				t.Errorf("%d terminals answer at once", n)
			}
			<-time.NewTimer(takes).C
			working.Add(-1)
			heard.Store(int64(time.Since(begun)))
			return recovery.Rows{Screen: []string{p.id}}, true
		}
		p := recovery.DefaultPolicy()
		got := gather(t.Context(), all, ask, p, time.Minute)
		if asked.Load() != terminals || len(got) != terminals-len(mute) {
			t.Errorf("%d terminals were asked and %d heard", asked.Load(), len(got))
		}
		want := (terminals-2)*takes + 2*textTurnMax
		if got := time.Duration(heard.Load()); got != want {
			t.Errorf("the last was heard after %v, and that should be %v", got, want)
		}
	})
}
