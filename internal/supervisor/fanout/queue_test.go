// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

// stack is a queue with its lanes, and a put that keeps the rules of claims.
type stack struct {
	*queue
	out, hist lane
	now       time.Time
}

func newStack() *stack {
	s := &stack{now: time.Unix(1, 0)}
	s.queue = newQueue(&s.out, &s.hist, func() time.Time { return s.now })
	return s
}

func (s *stack) write(kind lot, text string) (all []outcome) {
	l := &s.out
	if kind == lotHistory {
		l = &s.hist
	}
	for rest := []byte(text); len(rest) > 0; {
		it := item{lot: kind}
		it.piece, rest = l.write(rest, 1)
		o := s.put(it)
		if o != stored {
			l.release(it.piece, 1)
		}
		all = append(all, o)
	}
	return all
}

func (s *stack) show(stream string, whole bool) {
	c := &canvas{stream: []byte(stream)}
	c.refs.Add(1)
	s.paint(&painting{Snapshot{Stream: c.stream, Full: whole}, c})
}

func (s *stack) tell(e Event) { s.put(item{lot: lotEvent, event: e}) }

// drain takes all that is there and writes it down.
func (s *stack) drain() (lines []string) {
	for s.head < len(s.items) || s.pending > 0 {
		it, _ := s.take()
		switch it.lot {
		case lotOutput:
			lines = append(lines, "out "+string(it.piece.bytes()))
		case lotHistory:
			lines = append(lines, "hist "+string(it.piece.bytes()))
		case lotSnapshot:
			lines = append(lines, "snap "+string(it.painting.Stream))
		default:
			lines = append(lines, fmt.Sprintf("%T", it.event))
		}
		s.release(it)
	}
	return lines
}

func TestQueueOrder(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *stack)
		want []string
	}{
		"output grows together": {
			func(s *stack) { s.write(lotOutput, "a"); s.write(lotOutput, "b") }, []string{"out ab"}},
		"by turns with history": {
			func(s *stack) {
				s.write(lotOutput, "a")
				s.write(lotHistory, "1")
				s.write(lotOutput, "b")
				s.write(lotHistory, "2")
			}, []string{"out ab", "hist 12"}},
		"not past an event": {
			func(s *stack) { s.write(lotHistory, "1"); s.tell(HistoryWipe{}); s.write(lotHistory, "2") },
			[]string{"hist 1", "fanout.HistoryWipe", "hist 2"}},
		"not past a snapshot": {
			func(s *stack) { s.write(lotOutput, "a"); s.show("S", false); s.write(lotOutput, "b") },
			[]string{"out a", "snap S", "out b"}},
		"not over a hole": {
			func(s *stack) {
				s.write(lotOutput, "a")
				p, _ := s.out.write([]byte("x"), 1) // seen by another viewer alone
				s.write(lotOutput, "b")
				s.out.release(p, 1)
			}, []string{"out a", "out b"}},
		"a newer screen makes an older one superfluous": {
			func(s *stack) {
				s.write(lotOutput, "a")
				s.show("S", false)
				s.write(lotOutput, "b")
				s.show("T", false)
				s.write(lotOutput, "c")
			},
			[]string{"out a", "snap T", "out c"}},
		"but not one with history": {
			func(s *stack) {
				s.show("F", true)
				s.write(lotOutput, "b")
				s.write(lotHistory, "1")
				s.show("T", false)
			},
			[]string{"snap F", "out b", "hist 1", "snap T"}},
		"a full one makes all before it superfluous, and history": {
			func(s *stack) {
				s.write(lotHistory, "0")
				s.show("F", true)
				s.write(lotOutput, "b")
				s.tell(HistoryGap{})
				s.show("S", false)
				s.show("G", true)
				s.write(lotHistory, "1")
			},
			[]string{"snap G", "hist 1"}},
		"an exit stays": {
			func(s *stack) { s.show("F", true); s.tell(Exit{}); s.show("G", true) },
			[]string{"fanout.Exit", "snap G"}},
		"notices go by turns": {
			func(s *stack) { s.write(lotOutput, "a"); s.notify(noticeTitle, Title{}); s.notify(noticeCwd, Cwd{}) },
			[]string{"fanout.Title", "out a", "fanout.Cwd"}},
		"of a notice the newest counts": {
			func(s *stack) { s.notify(noticeTitle, Title{"x"}); s.notify(noticeTitle, Title{"y"}) }, []string{"fanout.Title"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStack()
			c.do(s)
			if got := s.drain(); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if s.bytes != 0 || s.out.tail != nil || s.hist.tail != nil {
				t.Errorf("%d bytes charged, tails %v %v after all was taken", s.bytes, s.out.tail, s.hist.tail)
			}
		})
	}
}

// A program that rings and renames itself without end delays output by one event, not for ever.
func TestNoticesDoNotStarveTheStream(t *testing.T) {
	s := newStack()
	s.write(lotOutput, "a")
	seen := map[string]int{}
	for range 10 {
		s.notify(noticeTitle, Title{})
		s.notify(noticeForeground, Foreground{})
		it, _ := s.take()
		seen[fmt.Sprintf("%d %T", it.lot, it.event)]++
		if it.lot == lotOutput {
			s.release(it)
		}
	}
	if len(seen) != 3 {
		t.Errorf("taken: %v", seen)
	}
}

func TestQueueIsBoundedByBytesAndByEntries(t *testing.T) {
	s := newStack()
	text := string(bytes.Repeat([]byte("x"), chunkBytes))
	fits := 0
	for s.write(lotOutput, text)[0] != full {
		fits++
	}
	if want := queueBytesNew / (chunkBytes + itemCharge); fits != want {
		t.Errorf("%d chunks fit, want %d", fits, want)
	}
	s.discard()
	for fits = 0; s.put(item{lot: lotEvent, event: HistoryWipe{}}) == stored; fits++ {
	}
	if want := queueBytesNew / itemCharge; fits != want {
		t.Errorf("%d events fit, want %d", fits, want)
	}
	s.discard()
	if s.bytes != 0 || s.out.tail != nil {
		t.Errorf("%d bytes charged after all was thrown away", s.bytes)
	}
}

func TestFinishedQueueTakesNothingMore(t *testing.T) {
	s := newStack()
	s.write(lotOutput, "a")
	s.finish()
	s.notify(noticeTitle, Title{})
	s.show("S", true)
	if o := s.write(lotOutput, "b"); o[0] != full {
		t.Errorf("outcome %d", o[0])
	}
	it, ok := s.take()
	if !ok || string(it.piece.bytes()) != "a" {
		t.Errorf("took %q, %t", it.piece.bytes(), ok)
	}
	if _, ok := s.take(); ok {
		t.Error("took more")
	}
}
