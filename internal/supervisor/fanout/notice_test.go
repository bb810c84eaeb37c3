// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"testing"
	"testing/synctest"

	"spawn/internal/sessiond/wire"
)

func TestNoticesReachViewersAndFacts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{Title: "before"})
		_, s := x.attach(AttachOptions{})
		x.settle()
		if e, _ := has[Title](s); e.Text != "before" {
			t.Errorf("title %q", e.Text)
		}
		x.w.notice(wire.Notice{Kind: wire.NoticeTitle, Text: "now"})
		x.w.notice(wire.Notice{Kind: wire.NoticeCwd, Text: "/tmp"})
		x.w.send(wire.AppendForeground(nil, "vim"))
		x.settle()
		title, _ := has[Title](s)
		cwd, _ := has[Cwd](s)
		fg, _ := has[Foreground](s)
		if title.Text != "now" || cwd.Text != "/tmp" || fg.Name != "vim" {
			t.Errorf("%+v %+v %+v", title, cwd, fg)
		}
		if f := x.h.Facts(); f.Title != "now" || f.Cwd != "/tmp" || f.Foreground != "vim" {
			t.Errorf("facts %+v", f)
		}
		x.finish()
	})
}

func TestTitleStormStarvesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		_, s := x.attach(AttachOptions{})
		x.settle()
		resume := s.stall()
		for i := range 10_000 {
			x.w.notice(wire.Notice{Kind: wire.NoticeTitle, Text: fmt.Sprint(i)})
		}
		x.w.print(10)
		synctest.Wait()
		resume()
		x.settle()
		if e, n := has[Title](s); e.Text != "9999" || n > 3 || s.got != 10 {
			t.Errorf("%d titles, last %q, %d bytes", n, e.Text, s.got)
		}
		x.finish()
	})
}
