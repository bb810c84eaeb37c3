// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"bytes"
	"slices"
	"testing"
)

// Whatever was ever sent to a worker, bent in whatever way, means nothing to those that come after it at the same name, nor
// to others: every datagram of a run is kept and sent to all later instances.
func TestRecordedDatagramsDoNothingToLaterInstances(t *testing.T) {
	const instances = 5
	f, id := openFolder(t, newPath(t)), NewSessionID()
	var record [][]byte
	for range instances {
		r := reserve(t, f, id)
		s := &served{listen(t, r), f, id, NewInstanceID(), make(chan Signal, 100)}
		t.Run(s.instance.String(), func(t *testing.T) {
			s.serve(t)
			s.requireUnmoved(t, record)
			record = append(record, s.bent(t)...)
			for _, sig := range []Signal{SignalTERM, SignalKILL} {
				record = append(record, s.obeyed(t, sig))
			}
		})
		s.Close()
		if err := r.Retire(); err != nil {
			t.Fatal(err)
		}
	}
	other := newSession(t)
	other.serve(t)
	other.requireUnmoved(t, record)
}

// requireUnmoved sends datagrams that are none of this instance's and wants each refused and counted.
func (s *served) requireUnmoved(t *testing.T, datagrams [][]byte) {
	t.Helper()
	from := s.sender(t)
	before := s.Lifecycle.Refused()
	for _, p := range datagrams {
		_, want := parseRequest(p, s.instance)
		if want != AckStale && want != AckMalformed {
			t.Fatalf("% x would be obeyed", p)
		}
		s.send(t, from, p, nil)
		expectAck(t, from, want)
	}
	if got := s.Lifecycle.Refused() - before; got != uint64(len(datagrams)) || len(s.delivered) > 0 {
		t.Errorf("of %d datagrams %d were refused, %d delivered", len(datagrams), got, len(s.delivered))
	}
}

// bent sends this instance's own requests with each bit flipped and at each other length, and returns them all.
func (s *served) bent(t *testing.T) (sent [][]byte) {
	t.Helper()
	for _, sig := range []Signal{SignalTERM, SignalKILL} {
		whole := appendRequest(nil, s.instance, sig)
		for bit := range 8 * RequestLen {
			p := slices.Clone(whole)
			p[bit/8] ^= 1 << (bit % 8)
			sent = append(sent, p)
		}
		for n := range 2 * RequestLen {
			if n != RequestLen {
				sent = append(sent, append(bytes.Clone(whole), whole...)[:n])
			}
		}
	}
	s.requireUnmoved(t, sent)
	return sent
}

// obeyed sends one request as it must be and returns it.
func (s *served) obeyed(t *testing.T, sig Signal) []byte {
	t.Helper()
	from, p := s.sender(t), appendRequest(nil, s.instance, sig)
	s.send(t, from, p, nil)
	expectAck(t, from, AckDelivered)
	if got := <-s.delivered; got != sig {
		t.Errorf("delivered %v, want %v", got, sig)
	}
	return p
}
