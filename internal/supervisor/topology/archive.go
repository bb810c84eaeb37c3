// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
	"strings"
)

// Archive is what a restored pane is known by: text and facts of a terminal that is gone, no process
// (recovery, section 5).
type Archive struct {
	Checkpoint   string       `json:"checkpoint"`    // "c" and a UUID of version 4
	PreviousPane string       `json:"previous_pane"` // id that the pane had when it was saved; names nothing here
	ProcessState ProcessState `json:"process_state"`
	TextState    TextState    `json:"text_state"`
	// CutRows counts the saved rows that could not be laid out again and were cut at the last column. It
	// outlives the text.
	CutRows uint64 `json:"cut_rows"`
}

// ProcessState says what was seen of an archive's process. It says nothing of what may still run.
type ProcessState string

const (
	ProcessExited      ProcessState = "exited"      // its end was recorded
	ProcessInterrupted ProcessState = "interrupted" // it was running when last seen
)

// TextState says what there is of an archive's text.
type TextState string

const (
	TextOmitted TextState = "omitted" // none was saved
	TextExpired TextState = "expired" // it was too old, and is gone
	TextPlain   TextState = "plain"
)

func (a Archive) check() error {
	if !isCheckpoint(a.Checkpoint) {
		return fmt.Errorf("bad checkpoint %q", a.Checkpoint)
	}
	if _, err := numberOf('p', a.PreviousPane); err != nil {
		return err
	}
	if a.ProcessState != ProcessExited && a.ProcessState != ProcessInterrupted {
		return fmt.Errorf("bad process state %q", a.ProcessState)
	}
	if !slices.Contains([]TextState{TextOmitted, TextExpired, TextPlain}, a.TextState) {
		return fmt.Errorf("bad text state %q", a.TextState)
	}
	if a.CutRows > CounterMax || a.CutRows > 0 && a.TextState == TextOmitted {
		return fmt.Errorf("%d rows cut of text that is %s", a.CutRows, a.TextState)
	}
	return nil
}

// isCheckpoint reports whether id is "c" and a UUID of version 4, variant 10.
func isCheckpoint(id string) bool {
	uuid, ok := strings.CutPrefix(id, "c")
	return ok && isUUID(uuid) && uuid[14] == '4' && strings.IndexByte("89ab", uuid[19]) >= 0
}

// ExpireText notes that an archive's text is gone for its age. Text that was never there stays omitted.
func (t Tree) ExpireText(pane string) (Tree, error) {
	return t.changePane("expire text of", pane, func(p *Pane) error {
		if p.Archive == nil {
			return ErrArchive
		}
		if p.Archive.TextState == TextPlain {
			expired := *p.Archive
			expired.TextState = TextExpired
			p.Archive = &expired
		}
		return nil
	})
}

// ReservePane gives out the id of a pane that is made later, with Start.ID. It never comes again, whether
// that happens or not.
func (t Tree) ReservePane() (Tree, string, error) {
	var id string
	n, err := t.change("reserve pane", func(n *Tree) (err error) {
		id, err = take('p', &n.Next.Pane)
		return err
	})
	return n, id, err
}

// ReplaceArchive puts a new pane where the archive is: in the same leaf, which is a change of the window's
// layout, or in the same float, which is none. The new pane has an id of its own, which may have been
// reserved, and none of the archive's tags; it keeps the name unless it is given another.
func (t Tree) ReplaceArchive(pane string, s Start) (Tree, Pane, error) {
	var made Pane
	n, err := t.change("replace archive "+pane, func(n *Tree) (err error) {
		made, err = n.replaceArchive(pane, s)
		return err
	})
	return n, made, err
}

// replaceArchive writes to a clone that an error leaves half changed.
func (t *Tree) replaceArchive(pane string, s Start) (Pane, error) {
	at := t.paneIndex(pane)
	if at < 0 {
		return Pane{}, ErrNotFound
	}
	old := t.Panes[at]
	if old.Archive == nil {
		return Pane{}, ErrArchive
	}
	if s.Name == "" {
		s.Name = old.Name
	}
	t.Panes = slices.Delete(t.Panes, at, at+1)
	made, err := t.newReserved(old.Window, s)
	if err != nil {
		return Pane{}, err
	}
	made.Float = old.Float
	t.Panes[t.paneIndex(made.ID)] = made
	t.windowOf(old.Window).exchange(map[string]string{old.ID: made.ID})
	return made, nil
}

// newReserved is newPane for a pane whose id may have been given out before.
func (t *Tree) newReserved(window string, s Start) (Pane, error) {
	if s.ID == "" {
		return t.newPane(window, s)
	}
	if err := t.reserved(s.ID); err != nil {
		return Pane{}, err
	}
	next := t.Next.Pane
	t.Next.Pane, _ = numberOf('p', s.ID)
	made, err := t.newPane(window, s)
	if err != nil {
		return Pane{}, err
	}
	t.Next.Pane = next
	slices.SortFunc(t.Panes, func(a, b Pane) int { return compareIDs(a.ID, b.ID) })
	return made, nil
}
