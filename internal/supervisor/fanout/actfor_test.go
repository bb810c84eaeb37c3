// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/supervisor/control"
)

// Whoever may write to a pane can act for its viewers by their ids, under the rules that bind the viewers.
func TestActsForAViewer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		first, _ := x.attach(AttachOptions{})
		second, _ := x.attach(AttachOptions{})
		reader, _ := x.attach(AttachOptions{ReadOnly: true})
		x.settle()
		for _, s := range []struct {
			op   control.Op
			id   control.ViewerID
			want error
			held control.ViewerID // by whom, then
		}{
			{control.OpGrant, second.ID(), control.ErrNoRequest, first.ID()},
			{control.OpRequest, second.ID(), nil, first.ID()},
			{control.OpGrant, first.ID(), control.ErrNoRequest, first.ID()},
			{control.OpGrant, 99, control.ErrNotJoined, first.ID()},
			{control.OpGrant, second.ID(), nil, second.ID()},
			{control.OpTake, first.ID(), nil, first.ID()},
			{control.OpTake, reader.ID(), control.ErrReadOnly, first.ID()},
			{control.OpRelease, second.ID(), control.ErrNotController, first.ID()},
			{control.OpRelease, first.ID(), nil, 0},
			{control.OpGrant, second.ID(), control.ErrNoRequest, 0},
			{control.OpRequest, 99, control.ErrNotJoined, 0},
			{control.OpRequest, second.ID(), nil, second.ID()},
		} {
			err := x.h.Steer(s.op, s.id)
			held := control.ViewerID(0)
			for _, v := range x.h.Stats().Viewers {
				if v.Control {
					held = v.ID
				}
			}
			if !errors.Is(err, s.want) || held != s.held {
				t.Errorf("op %d for viewer %d: %v, controlled by %d; want %v, %d", s.op, s.id, err, held, s.want, s.held)
			}
		}
		x.finish()
		if err := x.h.Steer(control.OpTake, first.ID()); !errors.Is(err, ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Coming and typing use a pane; watching it longer does not.
func TestWhenAPaneWasUsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		if used := x.h.Facts().Used; !used.IsZero() {
			t.Errorf("used at %v by nobody", used)
		}
		v, _ := x.attach(AttachOptions{})
		came := time.Now()
		x.settle()
		<-time.After(time.Minute)
		synctest.Wait()
		if used := x.h.Facts().Used; !used.Equal(came) {
			t.Errorf("used at %v, came at %v", used, came)
		}
		if err := v.Input([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if used := x.h.Facts().Used; !used.Equal(time.Now()) {
			t.Errorf("used at %v, typed at %v", used, time.Now())
		}
		x.finish()
	})
}
