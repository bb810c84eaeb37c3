// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Board is the list of panes as pages see it. Whoever changes a pane puts it up; each page's watcher
// takes what is new since it looked last, so a pane that changes often costs a slow page nothing.
type Board struct {
	mu struct {
		sync.Mutex
		panes    map[string]posted
		version  uint64        // of the last change
		arranged uint64        // how often Arranged was called
		changed  chan struct{} // closed by the next change
	}
}

type posted struct {
	pane    PaneInfo
	version uint64
	rung    uint64 // how often Ring was called for it
}

// NewBoard returns an empty board.
func NewBoard() *Board {
	b := &Board{}
	b.mu.panes = map[string]posted{}
	b.mu.changed = make(chan struct{})
	return b
}

// Put adds or replaces a pane. What programs chose of it is made fit to be shown.
func (b *Board) Put(p PaneInfo) {
	p.Title, p.Name = Plain(p.Title, titleRunesMax), Plain(p.Name, nameRunesMax)
	p.Foreground, p.Argv0 = Plain(p.Foreground, nameRunesMax), Plain(p.Argv0, nameRunesMax)
	b.mu.Lock()
	defer b.mu.Unlock()
	have, ok := b.mu.panes[p.ID]
	if ok && have.pane.Equal(p) {
		return
	}
	b.mu.version++
	b.mu.panes[p.ID] = posted{p, b.mu.version, have.rung}
	b.announceLocked()
}

// Remove takes a pane off. Its id is never used again.
func (b *Board) Remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.mu.panes[id]; ok {
		delete(b.mu.panes, id)
		b.announceLocked()
	}
}

// Arranged says that sessions, windows or their trees have changed. What they are now, pages ask for: there
// may be many changes before they get to it.
func (b *Board) Arranged() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.arranged++
	b.announceLocked()
}

// Ring says that the pane's program asks for attention: it rang the bell, or has something to tell. It is told to who
// watches now, once for however often it was called before they get to it.
func (b *Board) Ring(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.mu.panes[id]
	if !ok {
		return
	}
	p.rung++
	b.mu.panes[id] = p
	b.announceLocked()
}

// Get returns one pane.
func (b *Board) Get(id string) (PaneInfo, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.mu.panes[id]
	return p.pane, ok
}

func (b *Board) announceLocked() {
	close(b.mu.changed)
	b.mu.changed = make(chan struct{})
}

// Watch returns a watcher that has seen nothing yet.
func (b *Board) Watch() *Watcher { return &Watcher{board: b, told: map[string]mark{}} }

// Watcher is one reader's place on the board. It is for one goroutine and needs no closing.
type Watcher struct {
	board    *Board
	told     map[string]mark // by pane
	arranged uint64          // as the board counts
	looked   bool
}

// mark is how far a pane was told: as the board counts.
type mark struct{ version, rung uint64 }

// Change is a pane that is new or different, one that is gone or asks for attention, or news of how they are arranged.
type Change struct {
	Pane     PaneInfo // only its ID when Removed or Rang; empty when Arranged
	Removed  bool
	Rang     bool
	Arranged bool
}

// Next returns what has changed since it was called last; the first time, at once, all there is. It waits
// until there is something, or ctx ends.
func (w *Watcher) Next(ctx context.Context) ([]Change, error) {
	for {
		changes, later := w.look()
		if len(changes) > 0 || !w.looked {
			w.looked = true
			return changes, nil
		}
		select {
		case <-later:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (w *Watcher) look() ([]Change, <-chan struct{}) {
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	var changes []Change
	for _, id := range slices.Sorted(maps.Keys(w.told)) {
		if _, ok := w.board.mu.panes[id]; !ok {
			delete(w.told, id)
			changes = append(changes, Change{Pane: PaneInfo{ID: id}, Removed: true})
		}
	}
	fresh := slices.DeleteFunc(slices.Collect(maps.Values(w.board.mu.panes)), func(p posted) bool {
		return w.told[p.pane.ID] == mark{p.version, p.rung}
	})
	slices.SortFunc(fresh, func(a, b posted) int { return int(int64(a.version - b.version)) })
	for _, p := range fresh {
		id, told := p.pane.ID, w.told[p.pane.ID]
		w.told[id] = mark{p.version, p.rung}
		if told.version != p.version {
			changes = append(changes, Change{Pane: p.pane})
		}
		if told.rung != p.rung && w.looked {
			changes = append(changes, Change{Pane: PaneInfo{ID: id}, Rang: true})
		}
	}
	if w.arranged != w.board.mu.arranged && w.looked {
		changes = append(changes, Change{Arranged: true})
	}
	w.arranged = w.board.mu.arranged
	return changes, w.board.mu.changed
}

// Plain makes a text fit to be shown anywhere: printable characters and spaces alone, so no control,
// bidirectional or zero-width ones, and no more than max. Making a plain text plain changes nothing.
func Plain(text string, max int) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r) && r != utf8.RuneError:
			return r
		}
		return -1
	}, text)
	kept = strings.TrimSpace(kept)
	if utf8.RuneCountInString(kept) <= max {
		return kept
	}
	return strings.TrimSpace(string([]rune(kept)[:max]))
}
