// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stampsCommand, as the only argument, makes this program print stamps.
	stampsCommand = "print-stamps"
	// stampEvery is the pace of the stamps: a stop is seen when it is longer.
	stampEvery = 2 * time.Millisecond
)

// now is the machine's clock since its start, the same in every process.
func now() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

// printStamps writes the time, line by line, until nobody takes it any more.
func printStamps(out io.Writer) error {
	pace := time.NewTicker(stampEvery)
	defer pace.Stop()
	line := []byte(nil)
	for range pace.C {
		line = append(strconv.AppendInt(append(line[:0], stampMark), int64(now()), 10), '\n')
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("print stamps: %w", err)
		}
	}
	return nil
}

// stampMark begins a line with a stamp. The text before has other lines.
const stampMark = '@'

// stamp is one line's way: when the program wrote it, and when a viewer had it.
type stamp struct{ written, seen time.Duration }

// stillness is how long a terminal stood still at the longest.
type stillness struct {
	stop  time.Duration // between two writes of the program
	gap   time.Duration // between two pieces at the viewer
	delay time.Duration // from a write to the viewer
}

func (s *stillness) lengthen(o stillness) {
	s.stop, s.gap, s.delay = max(s.stop, o.stop), max(s.gap, o.gap), max(s.delay, o.delay)
}

// shown is what shows a terminal's output. The slice holds until the next call.
type shown interface {
	next() ([]byte, error)
	close()
}

// watch is whoever sees a terminal that prints stamps.
type watch struct {
	from  shown
	ended chan struct{}
	mu    struct {
		sync.Mutex
		stamps []stamp
		more   chan struct{} // closed at the next stamp
		err    error
	}
}

// watchStamps collects the stamps that come from somewhere, until close.
func watchStamps(from shown) *watch {
	w := &watch{from: from, ended: make(chan struct{})}
	w.mu.more = make(chan struct{})
	go w.collect()
	return w
}

func (w *watch) collect() {
	defer close(w.ended)
	var open []byte // the line that has not ended
	for {
		p, err := w.from.next()
		w.mu.Lock()
		if err != nil {
			w.mu.err = err
			close(w.mu.more)
			w.mu.Unlock()
			return
		}
		before := len(w.mu.stamps)
		open = w.takeLocked(append(open, p...), now())
		if len(w.mu.stamps) > before {
			close(w.mu.more)
			w.mu.more = make(chan struct{})
		}
		w.mu.Unlock()
	}
}

// takeLocked notes the stamps of whole lines, and returns what is left.
func (w *watch) takeLocked(text []byte, seen time.Duration) []byte {
	for {
		line, rest, whole := bytes.Cut(text, []byte("\r\n"))
		if !whole {
			return append(text[:0:0], text...)
		}
		if digits, ok := bytes.CutPrefix(line, []byte{stampMark}); ok {
			if n, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
				w.mu.stamps = append(w.mu.stamps, stamp{time.Duration(n), seen})
			}
		}
		text = rest
	}
}

// awaitStamp waits until a line has come that was written at a time or later.
func (w *watch) awaitStamp(ctx context.Context, at time.Duration) error {
	for {
		w.mu.Lock()
		come, more, err := len(w.mu.stamps) > 0 && w.mu.stamps[len(w.mu.stamps)-1].written >= at, w.mu.more, w.mu.err
		w.mu.Unlock()
		if come || err != nil {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// within is how long the terminal stood still between two times. What reaches over one of them counts where its middle is.
func (w *watch) within(from, to time.Duration) stillness {
	w.mu.Lock()
	defer w.mu.Unlock()
	var s stillness
	for i := 1; i < len(w.mu.stamps); i++ {
		a, b := w.mu.stamps[i-1], w.mu.stamps[i]
		if middle := (a.written + b.written) / 2; middle < from || middle >= to {
			continue
		}
		s.lengthen(stillness{b.written - a.written, b.seen - a.seen, b.seen - b.written})
	}
	return s
}

func (w *watch) close() {
	w.from.close()
	<-w.ended
}
