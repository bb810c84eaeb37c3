// SPDX-License-Identifier: Apache-2.0

package fanout

// ring keeps the newest bytes of a lane for viewers that come back. It is one more reader of the shared
// chunks: what it keeps is not copied for it. The zero value keeps nothing until restart. Guarded by Hub.mu.
type ring struct {
	lane   *lane
	on     bool
	pieces []piece // oldest first, each with a claim
	bytes  int     // of pieces, at most ringBytesMax
	end    uint64  // position of the next byte
}

// restart forgets what is kept and begins at a position.
func (r *ring) restart(at uint64) {
	r.wipe()
	r.on, r.end = true, at
}

// wipe forgets what is kept and keeps nothing more.
func (r *ring) wipe() {
	for _, p := range r.pieces {
		r.lane.release(p, 1)
	}
	r.on, r.pieces, r.bytes = false, nil, 0
}

// keep adds the next bytes, and reports whether it keeps the claim that came with them.
func (r *ring) keep(p piece) bool {
	n := p.to - p.from
	r.bytes, r.end = r.bytes+n, r.end+uint64(n)
	stored := !r.join(p)
	if stored {
		r.pieces = append(r.pieces, p)
	}
	for r.bytes > ringBytesMax {
		oldest := r.pieces[0]
		r.pieces = append(r.pieces[:0], r.pieces[1:]...)
		r.bytes -= oldest.to - oldest.from
		r.lane.release(oldest, 1)
	}
	return stored
}

func (r *ring) join(p piece) bool {
	if len(r.pieces) == 0 {
		return false
	}
	last := &r.pieces[len(r.pieces)-1]
	if last.of != p.of || last.to != p.from {
		return false
	}
	last.to = p.to
	return true
}

// since returns all bytes from a position on. It is false when some of them are gone, or never were here.
// The caller claims what it keeps.
func (r *ring) since(at uint64) ([]piece, bool) {
	start := r.end - uint64(r.bytes)
	if !r.on || at < start || at > r.end {
		return nil, false
	}
	var kept []piece
	skip := int(at - start)
	for _, p := range r.pieces {
		n := min(skip, p.to-p.from)
		skip -= n
		if p.from += n; p.from < p.to {
			kept = append(kept, p)
		}
	}
	return kept, true
}
