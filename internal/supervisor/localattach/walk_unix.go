// SPDX-License-Identifier: Apache-2.0

//go:build unix

package localattach

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// walkTimeout bounds a walk to another pane. spawnd answers at once, or is not there.
	walkTimeout = 5 * time.Second
	// footTime is how long a line stays at the foot of the screen, unless a key is typed before.
	footTime = 5 * time.Second
)

// here is the connection and the pane that it is to; no connection while it is being sought.
func (s *session) here() (Remote, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.remote, s.mu.at.pane
}

// settle finds out where the attachment begins: the pane that was asked for, else the one that was used last,
// else a new one.
func (s *session) settle() error {
	s.mu.at = stand{pane: s.o.Pane, last: map[string]string{}}
	if s.o.Places == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, walkTimeout)
	defer cancel()
	m, err := s.o.Places.Map(ctx)
	if err != nil {
		return err
	}
	if s.mu.at.pane, err = m.entrance(s.mu.at.pane); err != nil {
		return err
	}
	if s.mu.at.pane == "" {
		s.mu.at.pane = m.latest()
	}
	if s.mu.at.pane == "" {
		cols, rows := s.term.size()
		if s.mu.at.pane, err = s.o.Places.New(ctx, "", cols, rows); err == nil {
			m, err = s.o.Places.Map(ctx)
		}
	}
	s.mu.at.session = m.session(s.mu.at.pane)
	return err
}

// obey does what a command asks, on the goroutine of the keys: what is typed meanwhile waits, and goes to
// the pane that is there then. What fails is told at the foot, and the pane stays.
func (s *session) obey(c command) {
	if c == help {
		s.say(helpLine(s.o.Keys))
		return
	}
	if err := s.walk(c); err != nil {
		s.say(err.Error())
	}
}

func (s *session) walk(c command) error {
	err := s.goTo(func(ctx context.Context, m Map, from stand) (string, error) {
		if c != openWindow {
			return m.find(c, from)
		}
		cols, rows := s.term.size()
		return s.o.Places.New(ctx, from.session, cols, rows)
	})
	if err == nil {
		s.turned()
	}
	return err
}

// turned tells where the user is now. One who may look and not write is nobody whom others should follow, so a
// refusal is no matter.
func (s *session) turned() {
	if s.o.Places == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, walkTimeout)
	defer cancel()
	_, pane := s.here()
	_ = s.o.Places.Turned(ctx, pane) // at worst another pane counts as the active one
}

// goOn goes to the next pane of the session when the one of that connection has ended. It reports whether there
// was one, or the user has gone elsewhere meanwhile.
func (s *session) goOn(was Remote) bool {
	if s.o.One || s.o.Places == nil {
		return false
	}
	err := s.goTo(func(_ context.Context, m Map, from stand) (string, error) {
		if s.left(was) {
			return from.pane, nil
		}
		to, err := m.onward(from)
		if err == nil {
			s.setFoot(fmt.Sprintf("%s has ended; this is %s", from.pane, to))
		}
		return to, err
	})
	return err == nil
}

// goTo asks where everything is and where to go, and goes there. No other connection begins meanwhile.
func (s *session) goTo(where func(context.Context, Map, stand) (string, error)) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, walkTimeout)
	defer cancel()
	m, err := s.o.Places.Map(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if now := m.session(s.mu.at.pane); now != "" {
		s.mu.at.session = now
	}
	from := s.mu.at
	s.mu.Unlock()
	to, err := where(ctx, m, from)
	if err != nil || to == from.pane {
		return err
	}
	if err := s.connectTo(ctx, to); err != nil {
		return err
	}
	if m.session(to) == "" { // it is newer than the map
		m, err = s.o.Places.Map(ctx)
	}
	s.mu.Lock()
	s.mu.at.last[from.session] = from.pane
	if now := m.session(to); now != "" {
		s.mu.at.session = now
	}
	s.mu.Unlock()
	return err
}

// connectTo exchanges the connection for one to another pane. screenLoop sees the old one end.
func (s *session) connectTo(ctx context.Context, pane string) error {
	cols, rows := s.term.size()
	r, err := s.o.Dial(ctx, pane, cols, rows)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ended {
		return errors.Join(context.Canceled, r.Close())
	}
	old := s.mu.remote
	s.mu.remote, s.mu.at.pane = r, pane
	if old != nil {
		_ = old.Close()
	}
	return nil
}

// left reports whether the user has gone to another pane than the one that the connection is to.
func (s *session) left(r Remote) bool {
	now, _ := s.here()
	return now != nil && now != r
}

// say shows a line at the foot of the screen, for a while. It comes with a repaint, and goes with one: only
// then is it known what the terminal is in the middle of.
func (s *session) say(text string) {
	s.setFoot(text)
	_ = s.with(func(r Remote) error { return r.RequestReplay(0) }) // a broken connection is screenLoop's
}

func (s *session) setFoot(text string) {
	s.mu.Lock()
	s.mu.foot = text
	s.mu.Unlock()
	s.footDue.Reset(footTime)
}

// clearFoot takes the line away, if there is one.
func (s *session) clearFoot() {
	s.mu.Lock()
	shown := s.mu.foot != ""
	s.mu.foot = ""
	s.mu.Unlock()
	if shown {
		_ = s.with(func(r Remote) error { return r.RequestReplay(0) }) // a broken connection is dialled again, and repaints
	}
}

// foot is the line as it fits, with a blank on either side.
func (s *session) foot() string {
	s.mu.Lock()
	text := s.mu.foot
	s.mu.Unlock()
	cols, _ := s.term.size()
	return plainText(text, int(cols)-2)
}
