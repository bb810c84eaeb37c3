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
	in.open(nil)
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
	in.open(nil)
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
		in.open(nil)
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

// The answers to a program grow into another buffer, and the old one keeps nothing of them.
func TestInboxLeavesNoCopyOfAnswersThatGrow(t *testing.T) {
	in := newInbox()
	in.open(nil)
	in.answer([]byte("\x1b]11;rgb:1234/5678/9abc\x1b\\"))
	old := in.mu.replies[:cap(in.mu.replies)]
	in.answer(bytes.Repeat([]byte("x"), 2*len(old)))
	if !bytes.Equal(old, make([]byte, len(old))) {
		t.Errorf("left %q", old)
	}
	if piece := make([]byte, 6); in.take(piece) != 6 || string(piece) != "\x1b]11;r" {
		t.Errorf("took %q", piece)
	}
}

func TestInboxAdoptDropsThePredecessorsInputButNoReply(t *testing.T) {
	in := newInbox()
	in.open(nil)
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
	o := newOutbox(nil)
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
	o := newOutbox(nil)
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
	o := newOutbox(nil)
	push(o, 0, []byte("abc"), wire.AppendOutput)
	if err := push(o, 0, make([]byte, wire.OutputMax+1), wire.AppendOutput); !errors.Is(err, wire.ErrTooLarge) {
		t.Error(err)
	}
	if o.all() != wire.HeaderLen+3 {
		t.Errorf("size %d", o.all())
	}
}

func TestOutboxShut(t *testing.T) {
	o := newOutbox(nil)
	push(o, 0, []byte("abc"), wire.AppendOutput)
	o.shut(false)
	push(o, 0, []byte("more"), wire.AppendOutput)
	batch := o.take()
	o.done(batch)
	if len(batch) != wire.HeaderLen+3 || o.take() != nil {
		t.Error("what waited was not handed out alone")
	}
	o = newOutbox(nil)
	push(o, 0, []byte("abc"), wire.AppendOutput)
	o.shut(true)
	if o.take() != nil {
		t.Error("dropped frames were handed out")
	}
}

func TestOutboxGivesLargeBuffersBackWhenIdle(t *testing.T) {
	o := newOutbox(nil)
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
	o := newOutbox(nil)
	chunk := make([]byte, 4096)
	if n := testing.AllocsPerRun(1000, func() {
		push(o, wire.HeaderLen+len(chunk), chunk, wire.AppendOutput)
		o.done(o.take())
	}); n > 0 {
		t.Errorf("%v allocations for each chunk", n)
	}
}

func TestInboxGivesAKeyStraightToTheTerminal(t *testing.T) {
	var term []byte
	room := 5
	in := newInbox()
	in.open(func(p []byte) int {
		n := min(len(p), room)
		term, room = append(term, p[:n]...), room-n
		return n
	})
	in.put(0, []byte("abc"), nil)
	if string(term) != "abc" || in.mu.bytes != 0 || len(in.mu.frames) != 0 {
		t.Fatalf("%q written, %d bytes wait", term, in.mu.bytes)
	}
	in.put(0, []byte("defg"), nil) // half of it: the rest waits, and nothing passes it
	in.answer([]byte("R"))
	room = 10
	in.put(0, []byte("h"), nil)
	piece := make([]byte, 10)
	for range 2 {
		term = append(term, piece[:in.take(piece)]...)
	}
	if string(term) != "abcdefghR" {
		t.Errorf("%q", term)
	}
	in.put(0, []byte("i"), nil) // the writer may be in the middle of what it took last
	if string(term) != "abcdefghR" || in.mu.bytes != 1 {
		t.Errorf("%q written, %d bytes wait", term, in.mu.bytes)
	}
}

func waits(o *outbox) int {
	_, all := o.size()
	return all
}

func TestOutboxGivesAnEchoStraightToTheSocket(t *testing.T) {
	var socket []byte
	room := 1 << 20
	o := newOutbox(func(p []byte) int {
		n := min(len(p), room)
		socket, room = append(socket, p[:n]...), room-n
		return n
	})
	push(o, 0, []byte("abc"), wire.AppendOutput)
	if len(socket) != wire.HeaderLen+3 || waits(o) != 0 || len(o.ready) != 0 {
		t.Fatalf("%d bytes in the socket, %d wait", len(socket), waits(o))
	}
	room = 4
	push(o, 0, []byte("def"), wire.AppendOutput)
	push(o, 0, []byte("ghi"), wire.AppendOutput) // must not pass the rest
	if waits(o) != 2*(wire.HeaderLen+3)-4 || len(o.ready) != 1 {
		t.Fatalf("%d bytes wait", waits(o))
	}
	room = 1 << 20
	batch := o.take()
	push(o, 0, []byte("jkl"), wire.AppendOutput) // nor a batch under way
	socket = append(socket, batch...)
	o.done(batch)
	socket = append(socket, o.take()...)
	var want []byte
	for _, s := range []string{"abc", "def", "ghi", "jkl"} {
		want, _ = wire.AppendOutput(want, []byte(s))
	}
	if !bytes.Equal(socket, want) {
		t.Errorf("%q", socket)
	}
	push(o, 0, make([]byte, straightBytesMax+1), wire.AppendOutput)
	if waits(o) == 0 {
		t.Error("a large frame went straight")
	}
}

func TestOutboxGathersAFlood(t *testing.T) {
	o := newOutbox(nil)
	gathered := make(chan int)
	gather := func() {
		o.gather()
		gathered <- waits(o)
	}
	piece := make([]byte, gatherBytes/4)
	push(o, 0, piece, wire.AppendOutput)
	o.done(o.take())

	go gather() // ends by itself, with whatever there is
	if n := <-gathered; n != 0 {
		t.Fatalf("%d bytes", n)
	}
	for range 4 {
		push(o, 0, piece, wire.AppendOutput)
	}
	go gather() // is enough already
	if n := <-gathered; n < gatherBytes {
		t.Errorf("%d bytes", n)
	}
	if len(o.take()) < gatherBytes { // a push before or after it is told as ever
		t.Error("not taken whole")
	}
	push(o, 0, []byte("x"), wire.AppendOutput)
	if len(o.ready) != 1 {
		t.Error("after a flood nobody is told of a little")
	}
	o.shut(true)
	go gather()
	<-gathered
	if o.take() != nil {
		t.Error("a shut box is not empty")
	}
}
