// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"testing"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/page"
)

// Pages mark a terminal that rings, and one that has something to tell; and nothing else that a program says.
func TestABellAndANotificationAskForAttention(t *testing.T) {
	for kind, asks := range map[string]bool{
		wire.NoticeBell: true, wire.NoticeNotification: true, wire.NoticeTitle: false, wire.NoticeCwd: false, wire.NoticeMark: false,
	} {
		ps := &panes{board: page.NewBoard()}
		ps.board.Put(page.PaneInfo{ID: "p0"})
		w := ps.board.Watch()
		if _, err := w.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		ps.reported("p0", fanout.Noticed{Notice: wire.Notice{Kind: kind, Text: "x"}})
		ps.board.Put(page.PaneInfo{ID: "p0", Title: "later"}) // so that there is always something to hear of
		changes, err := w.Next(t.Context())
		if err != nil || changes[len(changes)-1].Rang != asks {
			t.Errorf("%s: %+v, %v", kind, changes, err)
		}
	}
}
