// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
)

// errSpawn means that the program of a relaunch could not be started. It says no more: what was asked to run is
// nobody's business but the asker's.
var errSpawn = errors.New("the program could not be started")

// relaunch puts a new terminal in the place of an archive, in this order:
//
//	1 one relaunch at a time, so that of several for one archive one at most starts anything
//	2 the new pane's id is given out: its program is told it
//	3 the program is started; until it is known to run the archive stays as it is
//	4 the new pane takes the archive's place, in one step with what is told of that
//
// If 3 or 4 fails, what was started is ended and reaped, and the archive is untouched.
func (ps *panes) relaunch(ctx context.Context, id string, argv []string, owner string) (Row, error) {
	if err := ps.begin(); err != nil {
		return Row{}, err
	}
	defer ps.began()
	select {
	case ps.relaunching <- struct{}{}:
		defer func() { <-ps.relaunching }()
	case <-ctx.Done():
		return Row{}, context.Cause(ctx)
	}
	old, fresh, err := ps.reserve(id)
	if err != nil {
		return Row{}, err
	}
	size := old.Facts()
	p, h, err := ps.launch(ctx, fresh, NewPane{Argv: argv, Cols: size.Cols, Rows: size.Rows})
	if err != nil {
		return Row{}, err
	}
	if err := ps.replace(id, p, owner); err != nil {
		return Row{}, errors.Join(err, ps.discard(ctx, p.id, h))
	}
	old.archive.source.Close() // who looked at it is sent away
	ps.noted(p.id, p.Facts())
	ps.tell(id)
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	return ps.Row(p.id)
}

// reserve gives out the id of the pane that is to replace the archive.
func (ps *panes) reserve(id string) (old *pane, fresh string, err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	at, ok := ps.mu.tree.Pane(id)
	switch {
	case !ok:
		return nil, "", fmt.Errorf("relaunch %q: %w", id, ErrNotFound)
	case at.Archive == nil || ps.mu.byID[id] == nil:
		return nil, "", fmt.Errorf("relaunch %s: %w", id, topology.ErrArchive)
	}
	tree, fresh, err := ps.mu.tree.ReservePane()
	if err != nil {
		return nil, "", err
	}
	ps.mu.tree = tree
	return ps.mu.byID[id], fresh, nil
}

// launch starts the program for a pane that is not in the tree yet, and waits until it runs or has failed to.
// A worker obeys in order, so what it answers to a capture it answers behind the start; a program that
// ran, however shortly, has an end that is known.
func (ps *panes) launch(ctx context.Context, id string, n NewPane) (*pane, *fleet.Handle, error) {
	worker := endpoint.NewSessionID()
	h, err := ps.fleet.Launch(ctx, worker, ps.spec(n, id))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errSpawn, err)
	}
	p := ps.drive(id, worker, h)
	select {
	case <-p.begun:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if now := p.Facts(); err == nil && now.Exit != nil && now.Exit.ExitCode == nil && now.Exit.Signal == "" {
		err = errors.New("its worker says so")
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: %w", errSpawn, err), ps.discard(ctx, id, h))
	}
	return p, h, nil
}

// discard ends what was started in vain.
func (ps *panes) discard(ctx context.Context, id string, h *fleet.Handle) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := h.Terminate(ctx)
	ps.mu.Lock()
	delete(ps.mu.byID, id)
	ps.mu.Unlock()
	return err
}

// replace is the one step.
func (ps *panes) replace(id string, p *pane, owner string) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	before := ps.mu.tree
	if _, there := before.Pane(id); !there { // it was closed meanwhile
		return fmt.Errorf("relaunch %q: %w", id, ErrNotFound)
	}
	tree, _, err := before.ReplaceArchive(id, topology.Start{Worker: string(p.worker), Owner: owner, ID: p.id, Argv0: p.argv0})
	if err != nil {
		return err
	}
	ps.mu.tree = tree
	ps.commitLocked(before, tree)
	delete(ps.mu.byID, id)
	ps.mu.byID[p.id] = p
	return nil
}
