// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// End is how a pane's terminal ended. With neither a code nor a signal nobody knows: its worker was lost,
// which is never success.
type End struct {
	ExitCode *int   `json:"exit_code,omitzero"`
	Signal   string `json:"signal,omitzero"`
}

// Known reports whether the end is a shell's own, and not the loss of its worker.
func (e End) Known() bool { return e.ExitCode != nil || e.Signal != "" }

func (e End) equal(o End) bool {
	return e.Signal == o.Signal && equalPointers(e.ExitCode, o.ExitCode)
}

func (e End) check() error {
	if e.ExitCode != nil && e.Signal != "" {
		return errors.New("both a code and a signal")
	}
	if e.ExitCode != nil && (*e.ExitCode < 0 || *e.ExitCode > math.MaxUint32) {
		return fmt.Errorf("exit code %d", *e.ExitCode)
	}
	if len(e.Signal) > signalMax || keepShown(e.Signal) != e.Signal || strings.ToValidUTF8(e.Signal, "") != e.Signal {
		return fmt.Errorf("bad signal name %q", e.Signal)
	}
	return nil
}

// Ended keeps how the shell of the pane ended. The first end stays: what is reported later, such as the
// worker's going, cannot be better known.
func (t Tree) Ended(pane string, end End) (Tree, error) {
	if err := end.check(); err != nil {
		return t, fmt.Errorf("end pane %s: %w", pane, err)
	}
	return t.changePane("end", pane, func(p *Pane) error {
		if p.End == nil {
			p.End = &end
		}
		return nil
	})
}

// Restart backs a pane by another worker, which starts a program in place of the one before. Its place, its name and
// its tags stay; the title was that program's, and so was argv0. It does not ask whether that has ended.
func (t Tree) Restart(pane, worker, argv0 string) (Tree, error) {
	return t.change("restart "+pane, func(n *Tree) error {
		at := n.paneIndex(pane)
		if at < 0 {
			return ErrNotFound
		}
		if n.Panes[at].Archive != nil {
			return ErrIsArchive
		}
		if err := n.backs(worker); err != nil {
			return err
		}
		p := &n.Panes[at]
		p.SessionID, p.Argv0, p.Title, p.End = worker, CleanArgv0(argv0), "", nil
		return nil
	})
}

// Lost marks the pane as ended in a way that nobody knows.
func (t Tree) Lost(pane string) (Tree, error) { return t.Ended(pane, End{}) }
