// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// pour puts text into r piece by piece, as the PTY's reader does, and ends it.
func pour(r *ring, text []byte, dice *rand.Rand, quit <-chan struct{}) {
	defer r.end()
	for len(text) > 0 {
		room := r.room(quit)
		if room == nil {
			return
		}
		n := copy(room[:1+dice.IntN(len(room))], text)
		r.put(n)
		text = text[n:]
	}
}

func TestRingPassesEachByteOnceAndInOrder(t *testing.T) {
	for seed := range uint64(4) {
		dice := rand.New(rand.NewPCG(seed, 0))
		text := make([]byte, 40*ringBytes+17)
		for i := range text {
			text[i] = byte(dice.Uint32())
		}
		r := newRing()
		go pour(r, text, rand.New(rand.NewPCG(seed, 1)), nil)
		var got []byte
		for {
			<-r.filled
			p, more := r.next()
			if !more {
				break
			}
			if len(p) > strideBytes || r.queued() > ringBytes {
				t.Fatalf("%d bytes at once of %d queued", len(p), r.queued())
			}
			p = p[:min(len(p), 1+dice.IntN(strideBytes))] // done takes less than next gave, too
			got = append(got, p...)
			r.done(p)
		}
		if !bytes.Equal(got, text) {
			t.Fatalf("seed %d: %d bytes came out other than the %d that went in", seed, len(got), len(text))
		}
		if bytes.Count(r.buf, []byte{0}) != ringBytes {
			t.Error("the ring keeps bytes that were taken")
		}
	}
}

func TestRingHoldsBackAtItsBoundAndLetsGo(t *testing.T) {
	r := newRing()
	for r.queued() < ringBytes {
		r.put(len(r.room(nil)))
	}
	quit := make(chan struct{})
	got := make(chan []byte)
	go func() { got <- r.room(quit) }()
	select {
	case room := <-got:
		t.Fatalf("%d bytes beyond the bound", len(room))
	default:
	}
	p, _ := r.next()
	r.done(p)
	if room := <-got; len(room) == 0 || r.queued()+len(room) > ringBytes {
		t.Errorf("room of %d bytes beside %d", len(room), r.queued())
	}
	for r.queued() < ringBytes {
		r.put(len(r.room(nil)))
	}
	close(quit)
	if r.room(quit) != nil {
		t.Fatal("room in a full ring")
	}
}

func TestRingStaysAtItsBeginWhileItIsSmall(t *testing.T) {
	r := newRing()
	for range 3 * ringBytes / 100 {
		r.put(copy(r.room(nil), make([]byte, 100)))
		p, _ := r.next()
		if &p[0] != &r.buf[0] {
			t.Fatal("small output has moved on through the ring")
		}
		r.done(p)
	}
}

func TestRingTellsItsEndAfterItsBytes(t *testing.T) {
	r := newRing()
	if p, more := r.next(); p != nil || !more {
		t.Fatal("an empty ring has ended")
	}
	r.put(copy(r.room(nil), "last"))
	r.end()
	p, more := r.next()
	if string(p) != "last" || !more {
		t.Fatalf("%q, %v", p, more)
	}
	r.done(p)
	<-r.filled
	if p, more := r.next(); p != nil || more {
		t.Errorf("after the end %q, %v", p, more)
	}
}

func TestRingForgetsWhatNobodyTook(t *testing.T) {
	r := newRing()
	r.put(copy(r.room(nil), "secret"))
	r.wipe()
	if bytes.Count(r.buf, []byte{0}) != ringBytes {
		t.Error("something is left")
	}
}
