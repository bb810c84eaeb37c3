// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/turns"
)

// ErrFollowers means that as many follow the pane as may.
var ErrFollowers = errors.New("too many wait for this pane")

// Prompt is what the shell has said of itself by its marks (OSC 133). It comes beside the output, and so up to
// a moment after it.
type Prompt struct {
	Last  byte        // kind of the last mark: 'A' to 'D'; 0 while none has come
	Ended *turns.Mark // the D of the last command; nil while none has come, and for a command that had none
	Ends  bool        // a B has come: prompts of this shell have an end
	Marks uint64      // how many marks have come
	// Awaited says that the shell will mark its prompts: it was started so. It is false too when nobody knows.
	Awaited bool
	Voice   turns.Voice // whose marks those are
}

// At reports whether the shell waits for a command.
func (p Prompt) At() bool { return p.Last == 'A' || p.Last == 'B' }

// Idle reports whether the shell has marked something and runs no command: it is at its prompt, or on its way there.
func (p Prompt) Idle() bool { return p.Last != 0 && p.Last != 'C' }

// Follower hears what a terminal puts out from now on. It is no viewer: nobody is shown it, it costs the worker
// nothing, and control and size are none of its business. It is for one goroutine, which pulls; there is none
// of its own.
type Follower struct {
	hub   *Hub
	ready chan struct{} // 1 slot

	// Guarded by hub.mu.
	heard []byte // not taken yet
	gap   bool   // bytes before heard are missing

	taken []byte // by the last Take; the caller's until the next
}

// Heard is what a follower has not taken before.
type Heard struct {
	Output []byte // valid until the next Take or Close
	Gap    bool   // bytes before Output are missing: they were more than followBytesMax
	Prompt Prompt
	Exit   *wire.Exit // nil while the shell runs; all its output came before
	Ended  bool       // nothing comes any more
}

// Follow begins to hear. The caller must Close the follower.
func (h *Hub) Follow() (*Follower, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.mu.ended:
		return nil, fmt.Errorf("follow terminal: %w", ErrEnded)
	case len(h.mu.followers) >= followersMax:
		return nil, fmt.Errorf("follow terminal: %w", ErrFollowers)
	}
	f := &Follower{hub: h, ready: make(chan struct{}, 1)}
	h.mu.followers = append(h.mu.followers, f)
	return f, nil
}

// Ready gets a value when there is something to take: output, a mark, the exit or the end.
func (f *Follower) Ready() <-chan struct{} { return f.ready }

// Take returns what has come since the last call. It does not wait.
func (f *Follower) Take() Heard {
	clear(f.taken) // terminal text does not linger
	h := f.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	f.taken, f.heard = f.heard, f.taken[:0]
	heard := Heard{Output: f.taken, Gap: f.gap, Prompt: h.mu.prompt, Exit: h.mu.facts.Exit, Ended: h.mu.ended}
	f.gap = false
	return heard
}

// Close ends it. A second call does nothing.
func (f *Follower) Close() {
	h := f.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, other := range h.mu.followers {
		if other == f {
			h.mu.followers = append(h.mu.followers[:i], h.mu.followers[i+1:]...)
			break
		}
	}
	clear(f.heard)
	clear(f.taken)
	f.heard, f.taken = nil, nil
}

func (f *Follower) hearLocked(p []byte) {
	if len(f.heard)+len(p) > followBytesMax {
		clear(f.heard)
		f.heard, f.gap = f.heard[:0], true
	}
	f.heard = append(f.heard, p...)
	f.rouse()
}

func (f *Follower) rouse() {
	select {
	case f.ready <- struct{}{}:
	default: // a value waits there already
	}
}

func (h *Hub) rouseLocked() {
	for _, f := range h.mu.followers {
		f.rouse()
	}
}

// promptLocked takes a mark of the shell. It reports false for what is none, or is not the shell's.
func (h *Hub) promptLocked(text string) bool {
	p := &h.mu.prompt
	m, ok := turns.Parse(text)
	before := p.Voice.Heard
	if !ok || !p.Voice.Trusts(m) {
		return false
	}
	if p.Voice.Heard != before {
		p.Ended = nil // by whomever that was said
	}
	p.Last = m.Kind
	p.Marks++
	switch m.Kind {
	case 'B':
		p.Ends = true
	case 'C':
		p.Ended = nil
	case 'D':
		p.Ended = &m
	}
	h.rouseLocked()
	return true
}
