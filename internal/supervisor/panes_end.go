// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
)

// Close ends a pane's terminal and takes the pane away. It does not wait for a shell that ignores TERM
// any longer than the two seconds after which KILL follows.
func (ps *panes) Close(ctx context.Context, id string) error {
	if err := ps.end(ctx, id); err != nil {
		return err
	}
	failpoint.Pass(failpoint.PaneEnded)
	ps.forget(id)
	failpoint.Pass(failpoint.PaneForgot)
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	failpoint.Pass(failpoint.PaneClosed)
	return nil
}

// CloseAll ends every terminal of a window or a session, all at once, and takes it away. What is opened in
// it meanwhile goes too. A terminal that cannot be ended keeps its pane, and so the window and the session;
// the others are gone.
func (ps *panes) CloseAll(ctx context.Context, id string) error {
	for {
		inside, err := ps.inside(id)
		if err != nil {
			return fmt.Errorf("close: %w", err)
		}
		ended, failed := ps.endEach(ctx, inside)
		_, err = ps.arrange(func(t topology.Tree) (topology.Tree, error) {
			t, err := withoutPanes(t, ended)
			if err != nil || there(t, id) != nil || len(panesIn(t, id)) > 0 {
				return t, err
			}
			return t.Close(id) // it was made empty, and would stay
		})
		ps.drop(ended)
		if failed != nil || err != nil {
			return errors.Join(failed, err)
		}
		if _, err := ps.inside(id); err != nil {
			return nil // it went with its last pane, or for good measure
		}
	}
}

// inside lists the panes of a window or a session.
func (ps *panes) inside(id string) ([]string, error) {
	ps.mu.Lock()
	tree := ps.mu.tree
	ps.mu.Unlock()
	return panesIn(tree, id), there(tree, id)
}

func panesIn(t topology.Tree, id string) []string {
	places := t.Places()
	var out []string
	for _, p := range t.Panes {
		if p.Window == id || places[p.Window].Session == id {
			out = append(out, p.ID)
		}
	}
	return out
}

func withoutPanes(t topology.Tree, ids []string) (topology.Tree, error) {
	for _, id := range ids {
		if _, there := t.Pane(id); !there {
			continue // somebody else closed it
		}
		var err error
		if t, err = t.Close(id); err != nil {
			return t, err
		}
	}
	return t, nil
}

// endEach ends the terminals of panes, all at once: a stubborn one delays nobody, and there are never more
// than topology.PanesMax. It returns the panes whose terminals are gone, and why the others are not.
func (ps *panes) endEach(ctx context.Context, ids []string) (ended []string, failed error) {
	var ending sync.WaitGroup
	errs := make([]error, len(ids))
	for i, id := range ids {
		ending.Go(func() { errs[i] = ps.end(ctx, id) })
	}
	ending.Wait()
	for i, err := range errs {
		if err == nil || errors.Is(err, ErrNotFound) {
			ended = append(ended, ids[i])
		}
	}
	return ended, errors.Join(without(errs, ErrNotFound)...)
}

func without(errs []error, target error) []error {
	var out []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, target) {
			out = append(out, err)
		}
	}
	return out
}

// heldPause is how long to wait before a worker is looked at again that somebody else of ours is launching or
// adopting at the moment. Both are bounded.
const heldPause = 20 * time.Millisecond

// end ends a pane's terminal. The pane stays.
func (ps *panes) end(ctx context.Context, id string) error {
	look := time.NewTicker(heldPause)
	defer look.Stop()
	for {
		err := ps.tryEnd(ctx, id)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fleet.ErrHeld) {
			return fmt.Errorf("close %q: %w", id, err)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("close %q: %w", id, errors.Join(err, context.Cause(ctx)))
		}
	}
}

func (ps *panes) tryEnd(ctx context.Context, id string) error {
	ps.mu.Lock()
	at, known := ps.mu.tree.Pane(id)
	p := ps.mu.byID[id]
	ps.mu.Unlock()
	switch {
	case !known:
		return ErrNotFound
	case p != nil:
		return p.terminate(ctx)
	case at.End == nil && at.SessionID != "":
		return endUnheld(ctx, ps.fleet, endpoint.SessionID(at.SessionID))
	}
	return nil // its terminal has ended, or it never had one
}

// endUnheld ends a worker that nothing of ours is connected to, if there is one. A worker that lives and
// cannot be reached is an error: it would be forgotten, and go on. So is one that is being launched or adopted:
// fleet.ErrHeld.
func endUnheld(ctx context.Context, f *fleet.Fleet, worker endpoint.SessionID) error {
	h, err := f.Adopt(ctx, worker)
	if refusal := (*fleet.Refusal)(nil); errors.As(err, &refusal) {
		if refusal.Held() {
			return fmt.Errorf("%w: %w", fleet.ErrUnresponsive, err)
		}
		return nil // nothing runs
	}
	if err != nil {
		return err
	}
	defer h.Close()
	return h.Terminate(ctx)
}

// forget takes a pane out of the tree.
func (ps *panes) forget(id string) {
	ps.mu.Lock()
	before := ps.mu.tree
	tree, err := before.Close(id)
	if err == nil {
		ps.putLocked(before, tree)
	}
	delete(ps.mu.byID, id)
	ps.mu.Unlock()
	if err != nil {
		return // it was gone
	}
	for _, other := range differing(before, tree) {
		ps.tell(other)
	}
}

// drop lets go of panes that the tree has no more.
func (ps *panes) drop(ids []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, id := range ids {
		delete(ps.mu.byID, id)
	}
}
