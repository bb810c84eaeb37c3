// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
)

func (x *house) follow() *Follower {
	x.Helper()
	f, err := x.h.Follow()
	if err != nil {
		x.Fatal(err)
	}
	return f
}

func TestAFollowerHearsWhatComesAndIsNoViewer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.print(100)
		x.settle()
		f := x.follow()
		from := x.w.position
		x.w.print(300)
		x.w.notice(wire.Notice{Kind: wire.NoticeMark, Text: "D;3"})
		x.w.notice(wire.Notice{Kind: wire.NoticeMark, Text: "B;aid=1"})
		x.w.notice(wire.Notice{Kind: wire.NoticeMark, Text: "no mark"})
		x.settle()
		<-f.Ready()
		h := f.Take()
		if !bytes.Equal(h.Output, outputAt(from, 300)) || h.Gap || h.Exit != nil || h.Ended {
			t.Errorf("%d bytes, %+v", len(h.Output), h)
		}
		if !h.Prompt.At() || h.Prompt.Ended == nil || h.Prompt.Ended.Status != 3 {
			t.Errorf("%+v", h.Prompt)
		}
		if h = f.Take(); len(h.Output) != 0 || x.h.Facts().Viewers != 0 || len(x.h.Stats().Viewers) != 0 || x.w.told() != 0 {
			t.Errorf("%+v, viewers %d, %d commands", h, x.h.Facts().Viewers, x.w.told())
		}
		x.w.exit(4)
		x.settle()
		<-f.Ready()
		if h = f.Take(); h.Exit == nil || *h.Exit.ExitCode != 4 || h.Ended {
			t.Errorf("%+v", h)
		}
		x.finish()
		<-f.Ready()
		if h = f.Take(); !h.Ended {
			t.Errorf("%+v", h)
		}
		f.Close()
		f.Close()
		if _, err := x.h.Follow(); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
	})
}

// Once a mark has come with the shell's nonce, what programs print is nobody's mark, and nobody is told of it.
func TestMarksAreTheShellsOnceItHasSpoken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told []string
		x := open(t, Options{Nonce: "n", Report: func(r Report) {
			if n, ok := r.(Noticed); ok {
				told = append(told, n.Text)
			}
		}})
		f := x.follow()
		defer f.Close()
		for _, c := range []struct {
			text  string
			last  byte
			ended bool
		}{
			{"D;7", 'D', true}, {"A;nonce=n", 'A', false}, {"A", 'A', false}, {"C;nonce=n", 'C', false}, {"D;0", 'C', false}, {"A;nonce=m", 'C', false}, {"D;1;nonce=n", 'D', true}, {"C", 'D', true},
			{"C;nonce=n", 'C', false}, {"A;nonce=n", 'A', false},
		} {
			x.w.notice(wire.Notice{Kind: wire.NoticeMark, Text: c.text})
			x.settle()
			if p := f.Take().Prompt; p.Last != c.last || (p.Ended != nil) != c.ended || p.Ends {
				t.Errorf("after %s: %+v", c.text, p)
			}
		}
		if want := []string{"D;7", "A;nonce=n", "C;nonce=n", "D;1;nonce=n", "C;nonce=n", "A;nonce=n"}; !slices.Equal(told, want) {
			t.Errorf("reported are %q, want %q", told, want)
		}
	})
}

// Who does not take what comes loses the older part, and nobody waits for it.
func TestAFollowerIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		f := x.follow()
		for range followBytesMax/wire.OutputMax + 1 {
			x.w.print(wire.OutputMax)
			x.settle()
		}
		if h := f.Take(); !h.Gap || !bytes.HasSuffix(outputAt(x.w.position-wire.OutputMax, wire.OutputMax), h.Output) || len(h.Output) == 0 {
			t.Errorf("gap %t, %d bytes", h.Gap, len(h.Output))
		}
		if h := f.Take(); h.Gap {
			t.Error("a gap is told twice")
		}
		for range followersMax - 1 {
			x.follow()
		}
		if _, err := x.h.Follow(); !errors.Is(err, ErrFollowers) {
			t.Error(err)
		}
		f.Close()
		x.follow()
		x.finish()
	})
}

func TestTypingTakesNoControl(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, s := x.attach(AttachOptions{Cols: 100, Rows: 30})
		x.settle()
		if err := v.Take(); err != nil {
			t.Fatal(err)
		}
		if err := x.h.Type(t.Context(), []byte("beside")); err != nil {
			t.Error(err)
		}
		x.settle()
		if c, _ := has[Control](s); !c.You || string(x.w.typed) != "beside" || x.w.cols != 100 {
			t.Errorf("%+v, typed %q, %d columns", c, x.w.typed, x.w.cols)
		}
		if err := x.h.Type(t.Context(), make([]byte, wire.InputMax+1)); !errors.Is(err, ErrSize) {
			t.Error(err)
		}
		x.w.exit(0)
		x.settle()
		if err := x.h.Type(t.Context(), []byte("x")); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
		x.finish()
	})
}

func TestTypingWaitsForAFullQueueWithinBounds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		x.w.allow(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		typed := make(chan error, typersMax+1)
		for range typersMax {
			go func() { typed <- x.h.Type(ctx, []byte("a")) }()
		}
		synctest.Wait()
		if err := x.h.Type(ctx, []byte("b")); !errors.Is(err, ErrTyping) {
			t.Error(err)
		}
		x.w.allow(typersMax / 2)
		for range typersMax / 2 {
			if err := <-typed; err != nil {
				t.Error(err)
			}
		}
		for range typersMax / 2 {
			if err := <-typed; !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		x.w.allow(-1)
		if err := x.h.Type(t.Context(), []byte("c")); err != nil {
			t.Error(err)
		}
		x.settle()
		if string(x.w.typed) != "aaaac" {
			t.Errorf("typed %q", x.w.typed)
		}
		x.finish()
	})
}
