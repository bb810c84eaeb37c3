// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"strings"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/wire"
)

// notices is what the program did besides writing: titles, folders, bells, messages, prompt marks. A program can do so
// millions of times a second, so they gather in a list of bounded length, and after each sending there is a pause.
type notices struct {
	pending []wire.Notice // in order; at most one title, one folder, one bell
	pause   alarm         // armed after a sending
	// title and cwd are the last values, told to each new connection; "" is none. So are the last prompt mark, which
	// says whether the shell is at its prompt, and the last D, which says how its last command ended.
	title, cwd, mark, ended string
}

// noticeNames gives the wire's name of each kind, and how many of it a window may hold. With one, the newest wins.
var noticeNames = map[emulator.NoticeKind]struct {
	name string
	max  int
}{
	emulator.NoticeTitle:        {wire.NoticeTitle, 1},
	emulator.NoticeCwd:          {wire.NoticeCwd, 1},
	emulator.NoticeBell:         {wire.NoticeBell, 1},
	emulator.NoticeNotification: {wire.NoticeNotification, notificationsWindowMax},
	emulator.NoticeMark:         {wire.NoticeMark, marksWindowMax},
}

// add remembers one notice. Above its kind's bound it replaces the only one, or is dropped; of marks the newest takes the
// place of the last, because what the shell is doing now must not be lost.
func (n *notices) add(kind emulator.NoticeKind, text string) {
	k, known := noticeNames[kind]
	if !known {
		return
	}
	text = wire.ClipText(text, noticeTextMax)
	if !n.isNews(kind, text) {
		return
	}
	count, last := 0, 0
	for i := range n.pending {
		if n.pending[i].Kind == k.name {
			count, last = count+1, i
		}
	}
	switch {
	case count < k.max:
		n.pending = append(n.pending, wire.Notice{Kind: k.name, Text: text})
	case k.max == 1 || kind == emulator.NoticeMark:
		n.pending[last].Text = text
	}
}

// isNews keeps standing values, which shells set again with each prompt, and reports whether text differs from the last.
func (n *notices) isNews(kind emulator.NoticeKind, text string) bool {
	standing := &n.title
	switch kind {
	case emulator.NoticeTitle:
	case emulator.NoticeCwd:
		standing = &n.cwd
	case emulator.NoticeMark: // each is news: a second A is another prompt
		n.mark = text
		if strings.HasPrefix(text, "D") {
			n.ended = text
		}
		return true
	default:
		return true
	}
	news := *standing != text
	*standing = text
	return news
}

// flushNotices sends what has gathered, unless it is the pause after the last sending.
func (w *worker) flushNotices() {
	if !w.notices.pause.armed() {
		w.settleNotices()
	}
}

// settleNotices sends what has gathered even in the pause, before an answer that shows what came of the same
// output: who asks is to know of every mark before it.
func (w *worker) settleNotices() {
	if len(w.notices.pending) == 0 {
		return
	}
	for _, n := range w.notices.pending {
		w.tellNotice(n)
	}
	clear(w.notices.pending)
	w.notices.pending = w.notices.pending[:0]
	if !w.notices.pause.armed() {
		w.notices.pause.arm(w.clock, noticeWindow)
	}
}

// resumeNotices ends the pause.
func (w *worker) resumeNotices() {
	w.notices.pause.disarm()
	w.flushNotices()
}

func (w *worker) tellNotice(n wire.Notice) {
	if w.conn != nil {
		w.conn.send(push(w.conn.out, frameHint, n, wire.AppendNotice))
	}
}

// tellStanding tells a new connection what it would have heard had it been there.
func (w *worker) tellStanding() {
	if w.notices.title != "" {
		w.tellNotice(wire.Notice{Kind: wire.NoticeTitle, Text: w.notices.title})
	}
	if w.notices.cwd != "" {
		w.tellNotice(wire.Notice{Kind: wire.NoticeCwd, Text: w.notices.cwd})
	}
	for _, mark := range []string{w.notices.ended, w.notices.mark} {
		if mark != "" {
			w.tellNotice(wire.Notice{Kind: wire.NoticeMark, Text: mark})
		}
	}
	if w.history.lost {
		w.tellNotice(wire.Notice{Kind: wire.NoticeHistoryLost})
	}
}
