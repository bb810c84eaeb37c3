// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
)

var (
	errUnknownCommand = errors.New("this spawnd did not start the program of the pane: say what to run")
	errRestarting     = errors.New("the pane is being restarted")
)

// restart ends a pane's program and starts one in its place, in this order:
//
//	1 what to run is settled: nothing is ended for a program that nobody knows
//	2 TERM, and KILL two seconds later (fleet.Handle.Terminate); a terminal that does not end keeps its pane as it is
//	3 the pane becomes another worker's, in the tree and on disk: whatever spawnd dies of from here on, the next one finds
//	  that worker in its pane, or the pane lost
//	4 the worker is started and its program known to run
//
// If 4 fails the pane stays, lost. Without argv the program is the one before, with its folder and environment; n names
// nothing else that is taken. The size is that of the terminal.
func (ps *panes) restart(ctx context.Context, id string, n NewPane) (Row, error) {
	if err := ps.begin(); err != nil {
		return Row{}, err
	}
	defer ps.began()
	if err := ps.renew(id); err != nil {
		return Row{}, fmt.Errorf("restart %q: %w", id, err)
	}
	defer ps.renewed(id)
	worker := endpoint.NewSessionID()
	old, spec, err := ps.again(id, worker, n)
	if err != nil {
		return Row{}, fmt.Errorf("restart %q: %w", id, err)
	}
	if err := ps.makeRoom(ctx, id, old); err != nil {
		return Row{}, err
	}
	failpoint.Pass(failpoint.RestartEnded)
	if _, err := ps.change(func(t topology.Tree) (topology.Tree, error) { return t.Restart(id, string(worker), spec.Argv[0]) }, id); err != nil {
		return Row{}, fmt.Errorf("restart %q: %w", id, err)
	}
	failpoint.Pass(failpoint.RestartKept)
	if err := ps.startAgain(ctx, id, worker, spec); err != nil {
		ps.gaveUp(id, worker)
		return Row{}, fmt.Errorf("restart %q: %w", id, err)
	}
	return ps.Row(id)
}

// renew makes this the only restart of the pane, until renewed.
func (ps *panes) renew(id string) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.mu.renewed[id] {
		return errRestarting
	}
	if ps.mu.renewed == nil {
		ps.mu.renewed = map[string]bool{}
	}
	ps.mu.renewed[id] = true
	return nil
}

func (ps *panes) renewed(id string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.mu.renewed, id)
}

// again settles what to run. The pane is nil when no worker of it was connected since spawnd started.
func (ps *panes) again(id string, worker endpoint.SessionID, n NewPane) (*pane, fleet.Spec, error) {
	ps.mu.Lock()
	at, known := ps.mu.tree.Pane(id)
	p := ps.mu.byID[id]
	ps.mu.Unlock()
	switch {
	case !known:
		return nil, fleet.Spec{}, ErrNotFound
	case at.Archive != nil:
		return nil, fleet.Spec{}, topology.ErrIsArchive
	}
	var began *fleet.Spec
	var size Facts
	if p != nil {
		size = p.Facts()
		p.mu.Lock()
		began = p.mu.began
		p.mu.Unlock()
	}
	if len(n.Argv) == 0 && began == nil {
		return nil, fleet.Spec{}, errUnknownCommand
	}
	n.Cols, n.Rows = size.Cols, size.Rows
	spec := ps.spec(n, id, worker) // the limits in force, and the size where none is known
	if began != nil {
		spec.Cwd = cmp.Or(n.Cwd, began.Cwd)
	}
	if len(n.Argv) == 0 {
		spec.Argv, spec.Env = began.Argv, ps.marks.Renew(string(worker), began.Env)
	}
	return p, spec, nil
}

// makeRoom ends the program of a pane that stays.
func (ps *panes) makeRoom(ctx context.Context, id string, p *pane) error {
	if p != nil {
		p.stays.Store(true)
	}
	err := ps.end(ctx, id)
	if err != nil && p != nil {
		p.stays.Store(false)
	}
	return err
}

// startAgain starts a worker for a pane that is its own already. An error leaves no worker.
func (ps *panes) startAgain(ctx context.Context, id string, worker endpoint.SessionID, spec fleet.Spec) error {
	h, err := ps.fleet.Launch(ctx, worker, spec)
	if err != nil {
		return fmt.Errorf("%w: %w", errStart, err)
	}
	failpoint.Pass(failpoint.RestartLaunched)
	p := ps.drive(id, worker, h)
	late := time.NewTimer(beginMax)
	defer late.Stop()
	select {
	case <-p.begun:
	case <-p.done:
	case <-late.C:
	case <-ctx.Done():
	}
	ps.mu.Lock()
	at, wanted := ps.mu.tree.Pane(id)
	ps.mu.Unlock()
	wanted = wanted && at.SessionID == string(worker)
	if wanted && !p.Facts().unstarted() {
		return nil
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	p.stays.Store(wanted)
	err = p.terminate(ending)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and its worker does not end: %w", errStart, err)
	case !wanted:
		ps.forgetRun(id, p)
		return fmt.Errorf("%w: the pane was closed meanwhile", errStart)
	}
	return fmt.Errorf("%w: there is no such program or folder, or they are not allowed", errStart)
}

// forgetRun lets go of a run that began when its pane was gone already.
func (ps *panes) forgetRun(id string, p *pane) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.mu.byID[id] == p {
		delete(ps.mu.byID, id)
	}
}

// gaveUp marks a pane whose program could not be started. How the one before ended is forgotten with it.
func (ps *panes) gaveUp(id string, worker endpoint.SessionID) {
	ps.mu.Lock()
	p := ps.mu.byID[id]
	ps.mu.Unlock()
	if p != nil {
		p.giveUp()
	}
	_, err := ps.arrange(func(t topology.Tree) (topology.Tree, error) {
		if at, known := t.Pane(id); !known || at.SessionID != string(worker) {
			return t, nil // it was closed
		}
		return t.Lost(id)
	})
	if err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	ps.tell(id)
}
