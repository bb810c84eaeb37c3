// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
)

// §4.1: a name goes outward when it is another, and at most once a second; of those between, the last one.
func TestForegroundGoesOutwardOnceASecond(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, s := x.attach(AttachOptions{})
		x.settle()
		says := func(names ...string) {
			for _, name := range names {
				x.w.send(wire.AppendForeground(nil, name))
			}
			synctest.Wait()
		}
		told := func() (names []string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, e := range s.events {
				if f, ok := e.(Foreground); ok {
					names = append(names, f.Name)
				}
			}
			return names
		}
		want := func(names ...string) {
			t.Helper()
			if got := told(); !slices.Equal(got, names) {
				t.Fatalf("told %q, want %q", got, names)
			}
		}
		says("bash", "bash")
		want("bash")
		for i := range 10 {
			says(fmt.Sprint("c", i))
		}
		want("bash")
		<-time.After(foregroundEvery - time.Millisecond)
		want("bash")
		<-time.After(time.Millisecond)
		synctest.Wait()
		want("bash", "c9")
		if f := x.h.Facts(); f.Foreground != "c9" {
			t.Errorf("facts %+v", f)
		}
		says("vim", "c9") // and back: nothing to tell
		<-time.After(2 * foregroundEvery)
		want("bash", "c9")
		says("vim")
		want("bash", "c9", "vim") // at once, after a rest
		says("late")
		x.finish() // the timer is not waited for
	})
}
