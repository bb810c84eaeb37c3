// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"bytes"
	"errors"
	"testing"

	"spawn/internal/sessiond/wire"
)

func TestInboxRefusesEarlyInputAndDropsLateInput(t *testing.T) {
	in := newInbox()
	if err := in.put(0, []byte("x"), nil); !errors.Is(err, errEarlyInput) {
		t.Errorf("before start: %v", err)
	}
	in.open()
	if err := in.put(0, []byte("typed"), nil); err != nil {
		t.Error(err)
	}
	in.close()
	if err := in.put(0, []byte("late"), nil); err != nil {
		t.Error(err)
	}
	if n := in.take(make([]byte, 10)); n != 0 {
		t.Errorf("%d bytes after close", n)
	}
}

func TestInboxKeepsOrderAndPutsRepliesBetweenFrames(t *testing.T) {
	in := newInbox()
	in.open()
	in.put(0, []byte("aaaaaa"), nil)
	in.put(0, []byte("bb"), nil)
	piece := make([]byte, 4)
	var got []string
	take := func() { got = append(got, string(piece[:in.take(piece)])) }
	take() // the first frame is half taken
	in.answer([]byte("REPLY"))
	take()
	take()
	take()
	in.put(0, []byte("c"), nil)
	take()
	want := []string{"aaaa", "aabb", "REPL", "Y", "c"}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("pieces %q, want %q", got, want)
		}
	}
}

func TestInboxHoldsBackAtItsBoundAndLetsGo(t *testing.T) {
	for name, fill := range map[string]func(in *inbox){
		"bytes": func(in *inbox) {
			for range inputBytesMax / wire.InputMax {
				in.put(0, make([]byte, wire.InputMax), nil)
			}
		},
		"frames": func(in *inbox) {
			for range inputFramesMax {
				in.put(0, []byte{1}, nil)
			}
		},
	} {
		in := newInbox()
		in.open()
		fill(in)
		gone := make(chan struct{})
		done := make(chan error, 1)
		if queued, _ := in.tryPut(0, []byte("x")); queued {
			t.Fatalf("%s: more than the bound", name)
		}
		go func() { done <- in.put(0, []byte("x"), gone) }()
		close(gone)
		if err := <-done; err != nil {
			t.Errorf("%s: let go with %v", name, err)
		}
		go func() { done <- in.put(0, []byte("x"), nil) }()
		in.take(make([]byte, wire.InputMax))
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInboxAdoptDropsThePredecessorsInputButNoReply(t *testing.T) {
	in := newInbox()
	in.open()
	in.put(0, []byte("old old old"), nil)
	piece := make([]byte, 4)
	in.take(piece)
	in.answer([]byte("R"))
	in.adopt(1)
	in.put(0, []byte("stale"), nil)
	in.put(1, []byte("new"), nil)
	var got []byte
	for range 2 {
		got = append(got, piece[:in.take(piece)]...)
	}
	if string(got) != "Rnew" {
		t.Errorf("took %q", got)
	}
	if in.mu.bytes != 0 {
		t.Errorf("%d bytes on the books", in.mu.bytes)
	}
}

func (o *outbox) all() int {
	_, all := o.size()
	return all
}

func TestOutboxCountsWhatTheKernelDoesNotHave(t *testing.T) {
	o := newOutbox()
	for range 3 {
		if err := push(o, 0, []byte("abc"), wire.AppendOutput); err != nil {
			t.Fatal(err)
		}
	}
	const frame = wire.HeaderLen + 3
	if o.all() != 3*frame {
		t.Fatalf("size %d", o.all())
	}
	batch := o.take()
	push(o, 0, []byte("abc"), wire.AppendOutput)
	if len(batch) != 3*frame || o.all() != 4*frame {
		t.Fatalf("batch of %d, size %d", len(batch), o.all())
	}
	o.done(batch)
	if o.all() != frame || !bytes.Equal(batch, make([]byte, len(batch))) {
		t.Errorf("size %d, batch not wiped: %q", o.all(), batch)
	}
	select {
	case <-o.room:
	default:
		t.Error("no word of the room")
	}
}

// What the peer has asked for is on the books, and output may follow it all the same.
func TestOutboxCountsAnswersApart(t *testing.T) {
	o := newOutbox()
	push(o, 0, []byte("abc"), wire.AppendOutput)
	pushAnswer(o, 0, make([]byte, 1000), wire.AppendOutput)
	const frame, answer = wire.HeaderLen + 3, wire.HeaderLen + 1000
	sizes := func(stream, all int) {
		t.Helper()
		if s, a := o.size(); s != stream || a != all {
			t.Errorf("%d bytes of the stream of %d, want %d of %d", s, a, stream, all)
		}
	}
	sizes(frame, frame+answer)
	batch := o.take()
	sizes(frame, frame+answer)
	push(o, 0, []byte("abc"), wire.AppendOutput)
	sizes(2*frame, 2*frame+answer)
	o.done(batch)
	sizes(frame, frame)
	pushAnswer(o, 0, make([]byte, 1000), wire.AppendOutput)
	o.shut(true)
	sizes(0, 0)
}

func TestOutboxRefusesABadFrameWhole(t *testing.T) {
	o := newOutbox()
	push(o, 0, []byte("abc"), wire.AppendOutput)
	if err := push(o, 0, make([]byte, wire.OutputMax+1), wire.AppendOutput); !errors.Is(err, wire.ErrTooLarge) {
		t.Error(err)
	}
	if o.all() != wire.HeaderLen+3 {
		t.Errorf("size %d", o.all())
	}
}

func TestOutboxShut(t *testing.T) {
	o := newOutbox()
	push(o, 0, []byte("abc"), wire.AppendOutput)
	o.shut(false)
	push(o, 0, []byte("more"), wire.AppendOutput)
	batch := o.take()
	o.done(batch)
	if len(batch) != wire.HeaderLen+3 || o.take() != nil {
		t.Error("what waited was not handed out alone")
	}
	o = newOutbox()
	push(o, 0, []byte("abc"), wire.AppendOutput)
	o.shut(true)
	if o.take() != nil {
		t.Error("dropped frames were handed out")
	}
}

func TestOutboxGivesLargeBuffersBackWhenIdle(t *testing.T) {
	o := newOutbox()
	push(o, 0, make([]byte, wire.OutputMax), wire.AppendOutput)
	o.done(o.take())
	o.trim()
	if cap(o.mu.spare) == 0 {
		t.Error("memory was given back in the middle of a flood")
	}
	o.trim()
	if kept := cap(o.mu.queued) + cap(o.mu.spare); kept > outboxKeepBytes {
		t.Errorf("an idle connection keeps %d bytes", kept)
	}
	push(o, 0, []byte("x"), wire.AppendOutput)
	o.done(o.take())
	o.trim()
	o.trim()
	if cap(o.mu.spare) == 0 {
		t.Error("small buffers are not kept")
	}
}

func TestPushAllocatesNothingInTheSteadyState(t *testing.T) {
	o := newOutbox()
	chunk := make([]byte, 4096)
	if n := testing.AllocsPerRun(1000, func() {
		push(o, wire.HeaderLen+len(chunk), chunk, wire.AppendOutput)
		o.done(o.take())
	}); n > 0 {
		t.Errorf("%v allocations for each chunk", n)
	}
}
