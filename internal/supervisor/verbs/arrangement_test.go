// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

// shelf is an arrangement of which nothing is asked but whether it was asked.
type shelf struct {
	Arrangement
	mu    sync.Mutex
	moved int
}

func (s *shelf) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved++
}

func (s *shelf) MoveWindow(context.Context, WindowMoveParams) (WindowResult, error) {
	s.move()
	return WindowResult{}, nil
}

func (s *shelf) PlacePane(context.Context, PanePlaceParams) (WindowResult, error) {
	s.move()
	return WindowResult{}, nil
}

func (s *shelf) MovePane(context.Context, PaneMoveParams) (WindowResult, error) {
	s.move()
	return WindowResult{}, nil
}

func (s *shelf) SwapPanes(context.Context, PaneSwapParams) (Empty, error) {
	s.move()
	return Empty{}, nil
}

// only grants everything on what is in its list, and nothing elsewhere.
type only []Resource

func (o only) Check(_ Caller, _ Right, on Resource) error {
	for _, mine := range o {
		if mine == on {
			return nil
		}
	}
	return errors.New("not granted")
}

// What is moved somewhere changes that place too: the caller must have the right to write there.
func TestMovesNeedTheTargetToo(t *testing.T) {
	s := &shelf{}
	fake := newFakeServer()
	fake.Arrangement = s
	r := run(t, func(on *server) {
		on.o.Server, on.o.Authority = fake, only{"pane:p0", "pane:p1", "window:w0", "session:s0"}
	})
	p := r.dial()
	for line, want := range map[string]string{
		`{"id":1,"verb":"window.move","params":{"window":"w0","index":1}}`:                 `{"id":1,"ok":`,
		`{"id":2,"verb":"window.move","params":{"window":"w0","session":"s0","index":1}}`:  `{"id":2,"ok":`,
		`{"id":3,"verb":"window.move","params":{"window":"w0","session":"s1","index":1}}`:  `{"id":3,"error":{"code":"denied.write","message":"write on session:s1 is not granted"`,
		`{"id":4,"verb":"pane.move","params":{"pane":"p0","beside":"p1","axis":"cols"}}`:   `{"id":4,"ok":`,
		`{"id":5,"verb":"pane.move","params":{"pane":"p0","beside":"p2","axis":"cols"}}`:   `{"id":5,"error":{"code":"denied.write","message":"write on pane:p2`,
		`{"id":6,"verb":"pane.move","params":{"pane":"p0","window":"w1","axis":"cols"}}`:   `{"id":6,"error":{"code":"denied.write","message":"write on window:w1`,
		`{"id":7,"verb":"pane.swap","params":{"pane":"p0","with":"p2"}}`:                   `{"id":7,"error":{"code":"denied.write","message":"write on pane:p2`,
		`{"id":8,"verb":"pane.swap","params":{"pane":"p0","with":"p1"}}`:                   `{"id":8,"ok":`,
		`{"id":9,"verb":"pane.place","params":{"pane":"p0"}}`:                              `{"id":9,"ok":`,
		`{"id":10,"verb":"pane.place","params":{"pane":"p0","beside":"p2","axis":"rows"}}`: `{"id":10,"error":{"code":"denied.write","message":"write on pane:p2`,
		`{"id":11,"verb":"pane.move","params":{"pane":"p2","beside":"p0","axis":"cols"}}`:  `{"id":11,"error":{"code":"denied.write","message":"write on pane:p2`,
	} {
		if got := p.ask(line); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	if s.moved != 5 {
		t.Errorf("%d were done", s.moved)
	}
}
