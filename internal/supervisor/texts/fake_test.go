// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/turns"
	"spawn/internal/supervisor/verbs"
)

// screen is a terminal whose program the test is. It works in a bubble, whose end shows that nobody is left.
type screen struct {
	*testing.T
	ready chan struct{}

	mu        sync.Mutex
	shot      wire.Capture
	heard     fanout.Heard
	output    []byte
	typed     []byte
	asked     []wire.CaptureReq
	looks     int
	followers int
	refuse    error // of captures
}

func newScreen(t *testing.T) *screen {
	return &screen{T: t, ready: make(chan struct{}, 1), shot: wire.Capture{Cols: 80, Rows: 3, Screen: []string{"", "", ""}}}
}

func bubble(t *testing.T, f func(*screen)) {
	synctest.Test(t, func(t *testing.T) {
		s := newScreen(t)
		f(s)
		synctest.Wait()
		if s.followers != 0 {
			t.Errorf("%d followers are left", s.followers)
		}
	})
}

func (s *screen) Capture(ctx context.Context, req wire.CaptureReq) (wire.Capture, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, req)
	s.looks++
	return s.shot, errors.Join(s.refuse, ctx.Err())
}

func (s *screen) Type(_ context.Context, p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typed = append(s.typed, p...)
	return nil
}

func (s *screen) Exited() bool { return s.heard.Exit != nil }

func (s *screen) Follow() (Follower, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers++
	return s, nil
}

func (s *screen) Ready() <-chan struct{} { return s.ready }

func (s *screen) Take() fanout.Heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.heard
	h.Output, s.output, s.heard.Gap = s.output, nil, false
	return h
}

func (s *screen) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers--
}

// print puts out, and shows rows when there are some.
func (s *screen) print(output string, rows ...string) {
	s.change(func() {
		s.output = append(s.output, output...)
		if len(rows) > 0 {
			s.shot.Screen = rows
		}
	})
}

// mark lets the shell mark, in the output and beside it.
func (s *screen) mark(marks ...string) {
	for _, text := range marks {
		s.change(func() {
			s.output = fmt.Appendf(s.output, "\x1b]133;%s\a", text)
			s.sayLocked(text)
		})
	}
}

func (s *screen) sayLocked(text string) {
	m, ok := turns.Parse(text)
	if !ok {
		s.Errorf("%s is no mark", text)
	}
	p := &s.heard.Prompt
	if !p.Voice.Trusts(m) {
		return
	}
	p.Last = m.Kind
	p.Marks++
	switch m.Kind {
	case 'B':
		p.Ends = true
	case 'C':
		p.Ended = nil
	case 'D':
		p.Ended = &m
	}
}

func (s *screen) change(f func()) {
	s.mu.Lock()
	f()
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
	synctest.Wait()
}

func (s *screen) exit(code int) {
	s.change(func() { s.heard.Exit = &wire.Exit{ExitCode: &code} })
}

// soon runs an act on a goroutine of its own.
func soon[R any](act func() (R, error)) <-chan outcome[R] {
	done := make(chan outcome[R], 1)
	go func() {
		r, err := act()
		done <- outcome[R]{r, err}
	}()
	synctest.Wait()
	return done
}

type outcome[R any] struct {
	result R
	err    error
}

// refused reports whether the error has that code.
func refused(err error, code verbs.Code) bool {
	var e *verbs.Error
	return errors.As(err, &e) && e.Code == code
}
