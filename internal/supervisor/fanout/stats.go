// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"spawn/internal/supervisor/control"
)

// counts only grow. Guarded by Hub.mu.
type counts struct {
	snapshots, resumes, drops uint64
	bytes                     uint64 // taken by viewers that have left
}

// Stats are a hub's counters since it began, and how its viewers stand.
type Stats struct {
	Snapshots uint64 // that viewers were given
	Resumes   uint64 // viewers that came back and went on without one
	Drops     uint64 // times that a viewer was too slow
	Bytes     uint64 // given to viewers: output, history and snapshots
	Viewers   []ViewerStats
}

// ViewerStats are one viewer's counters since it was attached.
type ViewerStats struct {
	ID      control.ViewerID
	Name    string
	Control bool   // it controls the pane
	Resumed bool   // it came back and went on without a snapshot
	Drops   uint64 // times that it was too slow
	Bytes   uint64 // given to it
	Waiting int    // bytes that wait for it, snapshots apart
	Bound   int    // bytes that may wait for it, by its pace
}

// Stats returns the present state.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.mu.counts
	s := Stats{Snapshots: c.snapshots, Resumes: c.resumes, Drops: c.drops, Bytes: c.bytes}
	for _, v := range h.mu.viewers {
		row := v.statsLocked()
		s.Bytes += row.Bytes
		s.Viewers = append(s.Viewers, row)
	}
	return s
}

func (v *Viewer) statsLocked() ViewerStats {
	s := ViewerStats{ID: v.id, Name: v.name, Resumed: v.resumed, Drops: v.drops}
	s.Control = v.hub.mu.control.Controller() == v.id
	s.Waiting, s.Bound, s.Bytes = v.queue.load()
	return s
}
