// SPDX-License-Identifier: Apache-2.0

package vfs

import "fmt"

// CrashState is what one power loss left.
type CrashState struct {
	Done int    // changes and syncs that had been made, as Len counts them
	Last Op     // the last of these; "" for none
	What string // which of the unsynced changes were kept, for a test's message
	// Sampled says that a file had so many unsynced sectors that not each of their states is visited.
	Sampled bool
	FS      *Crash // all of it durable, with a log that begins anew
}

// States calls yield for everything that a power loss could leave: after each number of changes, with
// each set of unsynced ones. It stops when yield returns false.
func (c *Crash) States(yield func(CrashState) bool) {
	for done := range len(c.log) + 1 {
		if !c.statesAfter(done, yield) {
			return
		}
	}
}

// Final is States for a power loss now, behind all changes.
func (c *Crash) Final(yield func(CrashState) bool) { c.statesAfter(len(c.log), yield) }

// statesAfter tells whether yield wants more.
func (c *Crash) statesAfter(done int, yield func(CrashState) bool) bool {
	var last Op
	if done > 0 {
		last = c.log[done-1].op
	}
	durable, choices, sampled := c.unsynced(done)
	picked := make([]int, len(choices))
	for {
		nodes := cloneNodes(durable)
		for i, choice := range choices {
			for _, change := range choice[picked[i]] {
				change.apply(nodes)
			}
		}
		if !yield(CrashState{done, last, fmt.Sprint(picked), sampled, newCrash(nodes)}) {
			return false
		}
		if !advance(picked, choices) {
			return true
		}
	}
}

// advance counts picked up as a number whose i-th digit has as many values as the i-th choice.
func advance(picked []int, choices [][][]crashChange) bool {
	for i := range picked {
		if picked[i]++; picked[i] < len(choices[i]) {
			return true
		}
		picked[i] = 0
	}
	return false
}

// unsynced returns what is durable after so many changes, and for each unsynced one, or group of them,
// its possible outcomes: lists of changes to apply. sampled says that some are left out.
func (c *Crash) unsynced(done int) (durable []*crashNode, choices [][][]crashChange, sampled bool) {
	durable = cloneNodes(c.base)
	var pending []crashChange
	for _, change := range c.log[:done] {
		if !change.sync {
			pending = append(pending, change)
			continue
		}
		kept := pending[:0]
		for _, p := range pending {
			if p.node == change.node {
				p.apply(durable)
			} else {
				kept = append(kept, p)
			}
		}
		pending = kept
	}
	sectors := map[int][]crashChange{} // of each file
	var files []int
	for _, p := range pending {
		if c.nodes[p.node].dir {
			choices = append(choices, [][]crashChange{nil, {p}})
			continue
		}
		if sectors[p.node] == nil {
			files = append(files, p.node)
		}
		sectors[p.node] = append(sectors[p.node], split(p)...)
	}
	for _, n := range files {
		choices = append(choices, sectorStates(sectors[n])...)
		sampled = sampled || len(sectors[n]) > crashSectorsExact
	}
	return durable, choices, sampled
}

// split cuts a write at the borders of sectors.
func split(write crashChange) (parts []crashChange) {
	for len(write.data) > 0 {
		n := min(len(write.data), crashSector-write.at%crashSector)
		part := write
		part.data = write.data[:n]
		parts = append(parts, part)
		write.data, write.at = write.data[n:], write.at+n
	}
	return parts
}

// sectorStates are the outcomes of writes to one file: each sector by itself if there are few, or else
// one choice among the telling ones.
func sectorStates(parts []crashChange) [][][]crashChange {
	if len(parts) <= crashSectorsExact {
		var each [][][]crashChange
		for _, p := range parts {
			each = append(each, [][]crashChange{nil, {p}, {zeroes(p)}})
		}
		return each
	}
	var all [][]crashChange
	var blank []crashChange
	for i, p := range parts {
		blank = append(blank, zeroes(p))
		all = append(all, parts[:i])
		holed := append(append([]crashChange{}, parts[:i]...), zeroes(p))
		all = append(all, append(holed, parts[i+1:]...))
	}
	return [][][]crashChange{append(all, parts, blank)}
}

// zeroes is the outcome that the length was kept and the content was not.
func zeroes(p crashChange) crashChange {
	p.data = make([]byte, len(p.data))
	return p
}
