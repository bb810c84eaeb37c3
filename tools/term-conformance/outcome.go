// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"spawn/internal/sessiond/emulator"
)

// chunk is bytes to feed, or a size to change to.
type chunk struct {
	feed       []byte
	cols, rows int // 0 unless it is a size
}

// MarshalJSON writes it as the oracle reads it.
func (c chunk) MarshalJSON() ([]byte, error) {
	if c.cols > 0 {
		return fmt.Appendf(nil, `{"resize":[%d,%d]}`, c.cols, c.rows), nil
	}
	return fmt.Appendf(nil, "%q", base64.StdEncoding.EncodeToString(c.feed)), nil
}

// session is one terminal's whole life in a case: what lies between two resets.
type session struct {
	cols, rows int
	chunks     []chunk
}

// sessions splits a case at its resets.
func (c *testCase) sessions() []session {
	cols, rows := c.Cols, c.Rows
	out := []session{}
	at := session{cols: cols, rows: rows}
	for i := range c.Steps {
		s := &c.Steps[i]
		p, feeds := s.input()
		switch {
		case feeds:
			at.chunks = append(at.chunks, chunk{feed: p})
		case s.Resize != nil:
			cols, rows = s.Resize[1], s.Resize[0]
			at.chunks = append(at.chunks, chunk{cols: cols, rows: rows})
		case s.Reset != 0:
			if len(at.chunks) > 0 {
				out = append(out, at)
			}
			at = session{cols: cols, rows: rows}
		}
	}
	return append(out, at)
}

// recorder is a sink that keeps everything.
type recorder struct {
	history, replies bytes.Buffer
	answers          int // calls of Reply
	notices          []string
}

func (r *recorder) History(p []byte) { r.history.Write(p) }
func (r *recorder) Wipe()            { r.history.Reset(); r.notices = append(r.notices, "wipe") }
func (r *recorder) Reply(p []byte)   { r.replies.Write(p); r.answers++ }
func (r *recorder) Notice(k emulator.NoticeKind, s string) {
	r.notices = append(r.notices, fmt.Sprintf("%d:%s", k, s))
}

// terminal is our emulator with what it told its sink.
type terminal struct {
	*emulator.Terminal
	recorder
}

func newTerminal(cols, rows int) *terminal {
	t := &terminal{}
	t.Terminal = emulator.New(cols, rows, &t.recorder)
	return t
}

// take carries out a chunk; bytewise feeds it byte by byte.
func (t *terminal) take(c chunk, bytewise bool) {
	switch {
	case c.cols > 0:
		t.Resize(c.cols, c.rows)
	case bytewise:
		for i := range c.feed {
			t.Feed(c.feed[i : i+1])
		}
	default:
		t.Feed(c.feed)
	}
}

// run lives through a session.
func (s session) run(bytewise bool) *terminal {
	t := newTerminal(s.cols, s.rows)
	for _, c := range s.chunks {
		t.take(c, bytewise)
	}
	return t
}

// plainHistory returns the committed lines without their styles, which are SGR and OSC 8 alone.
func plainHistory(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x1b")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		_, text, _ = strings.Cut(rest, sequenceEnd(rest))
	}
}

// sequenceEnd returns what ends the styling sequence whose introducer is rest's first byte.
func sequenceEnd(rest string) string {
	if strings.HasPrefix(rest, "]") {
		return "\x1b\\"
	}
	if at := strings.IndexAny(rest, "mq"); at >= 0 {
		return rest[at : at+1] // SGR, DECSCA
	}
	return rest
}
