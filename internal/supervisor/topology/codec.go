// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"

	"spawn/internal/strictjson"
)

// formatVersion is the version of the file. A change that an older spawnd would misread raises it.
const formatVersion = 1

var (
	// ErrCorrupt means that bytes are not a tree, or one that breaks a rule of this package.
	ErrCorrupt = errors.New("not a valid arrangement")
	// ErrVersion means that the bytes are of a version that this spawnd does not know.
	ErrVersion = errors.New("arrangement of an unknown version")
)

// envelope is the file.
type envelope struct {
	Version int  `json:"version"`
	Tree    Tree `json:"tree"`
}

// Encode writes the tree as JSON: the same tree always gives the same bytes.
func Encode(t Tree) ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("encode arrangement: %w", err)
	}
	out, err := strictjson.Marshal(envelope{formatVersion, t})
	if err != nil {
		return nil, fmt.Errorf("encode arrangement: %w", err)
	}
	return append(out, '\n'), nil
}

// Decode reads what Encode wrote and refuses everything else, with ErrCorrupt or ErrVersion.
func Decode(src []byte) (Tree, error) {
	if len(src) > EncodedMax {
		return Tree{}, fmt.Errorf("decode arrangement: %d bytes, at most %d: %w", len(src), EncodedMax, ErrCorrupt)
	}
	version, err := strictjson.Version(src, "version")
	if err != nil {
		return Tree{}, fmt.Errorf("decode arrangement: %w: %w", err, ErrCorrupt)
	}
	if version != formatVersion {
		return Tree{}, fmt.Errorf("decode arrangement: version %d, want %d: %w", version, formatVersion, ErrVersion)
	}
	var e envelope
	if err := strictjson.Unmarshal(src, &e); err != nil {
		return Tree{}, fmt.Errorf("decode arrangement: %w: %w", err, ErrCorrupt)
	}
	if err := e.Tree.check(); err != nil {
		return Tree{}, fmt.Errorf("decode arrangement: %w: %w", err, ErrCorrupt)
	}
	return e.Tree, nil
}

// check holds every rule that the operations keep.
func (t Tree) check() error {
	if len(t.Panes) > PanesMax {
		return fmt.Errorf("%d panes: %w", len(t.Panes), ErrFull)
	}
	workers := make(map[string]bool, len(t.Panes))
	unshown := make(map[string]bool, len(t.Panes))
	var above uint64 // the least number that the next pane may have
	for _, p := range t.Panes {
		n, err := p.check(t.Next.Pane)
		if err != nil {
			return err
		}
		if n < above {
			return fmt.Errorf("pane %s is out of order", p.ID)
		}
		if workers[p.SessionID] {
			return fmt.Errorf("pane %s: %w", p.ID, ErrDuplicate)
		}
		above, workers[p.SessionID], unshown[p.ID] = n+1, true, true
	}
	if err := t.checkSessions(unshown); err != nil {
		return err
	}
	if len(unshown) > 0 {
		return fmt.Errorf("%d panes are in no window", len(unshown))
	}
	return nil
}

// checkSessions takes every pane that a window shows out of unshown.
func (t Tree) checkSessions(unshown map[string]bool) error {
	seen := map[string]bool{}
	for _, s := range t.Sessions {
		if err := checkID('s', s.ID, t.Next.Session, seen); err != nil {
			return err
		}
		if clean, err := CleanName(s.Name); err != nil || clean != s.Name || s.Name == "" {
			return fmt.Errorf("session %s has the name %q: %w", s.ID, s.Name, ErrName)
		}
		if len(s.Windows) == 0 {
			return fmt.Errorf("session %s has no window", s.ID)
		}
		for _, w := range s.Windows {
			if err := checkID('w', w.ID, t.Next.Window, seen); err != nil {
				return err
			}
			if clean, err := CleanName(w.Name); err != nil || clean != w.Name {
				return fmt.Errorf("window %s has the name %q: %w", w.ID, w.Name, ErrName)
			}
			if !unshown[w.Pane] {
				return fmt.Errorf("window %s shows pane %q, which is not there or shown twice", w.ID, w.Pane)
			}
			delete(unshown, w.Pane)
		}
	}
	return nil
}

func (p Pane) check(next uint64) (uint64, error) {
	n, err := numberOf('p', p.ID)
	if err != nil {
		return 0, err
	}
	if n >= next {
		return 0, fmt.Errorf("pane %s was never given out (next is %d)", p.ID, next)
	}
	if !isWorker(p.SessionID) {
		return 0, fmt.Errorf("pane %s: %q: %w", p.ID, p.SessionID, ErrWorker)
	}
	if clean, err := CleanName(p.Name); err != nil || clean != p.Name {
		return 0, fmt.Errorf("pane %s has the name %q: %w", p.ID, p.Name, ErrName)
	}
	if CleanTitle(p.Title) != p.Title {
		return 0, fmt.Errorf("pane %s has the title %q: %w", p.ID, p.Title, ErrName)
	}
	if p.End != nil {
		if err := p.End.check(); err != nil {
			return 0, fmt.Errorf("pane %s: %w", p.ID, err)
		}
	}
	return n, nil
}

func checkID(letter byte, id string, next uint64, seen map[string]bool) error {
	n, err := numberOf(letter, id)
	if err != nil {
		return err
	}
	if n >= next || seen[id] {
		return fmt.Errorf("id %s was never given out, or twice (next is %d)", id, next)
	}
	seen[id] = true
	return nil
}
