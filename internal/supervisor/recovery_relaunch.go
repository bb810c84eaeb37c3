// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// errSpawn means that the program of a relaunch could not be started. It says no more: what was asked to run is
// nobody's business but the asker's.
var errSpawn = errors.New("the program could not be started")

// relaunch puts a new terminal in the place of an archive, in this order:
//
//	1 one relaunch at a time, so that of several for one archive one at most starts anything
//	2 the new pane's id is given out: its program is told it
//	3 what the pane is given beside its own is settled, which gives nothing before the pane is there
//	4 a worker is started; when nothing but START is missing, the file says what is about to be started for which archive
//	5 the program is started; until it is known to run the archive stays as it is. Whoever asked may go from here on, and
//	  changes nothing by it
//	6 the new pane takes the archive's place, in one step with what is told of that, and on disk
//
// If 4 fails, or the worker says of 5 that nothing could be started, what was given is taken back and the archive is
// untouched, in the file as well. If 6 fails, as when the archive was closed meanwhile, what was started is ended and reaped,
// and nothing else is started in that place. Of what the new pane is asked to be, the size is the archive's and the name, too.
//
// Whoever dies of the two, a program is started once at most: before 4 is done the worker has none and never gets one; behind
// it only the worker knows whether there was one. When it is gone without a word the new pane takes the archive's place, lost,
// by this spawnd (6) as by the next one (topology.Reconcile).
func (ps *panes) relaunch(ctx context.Context, id string, n NewPane, endow endowing) (Row, error) {
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
	failpoint.Pass(failpoint.RelaunchReserved)
	given, err := endow(fresh)
	if err != nil {
		return Row{}, err
	}
	size := old.Facts()
	n.Cols, n.Rows = size.Cols, size.Rows
	p, h, err := ps.launch(ctx, id, fresh, n)
	if err != nil {
		given.withdraw()
		return Row{}, err
	}
	if err := ps.replace(id, p, n.Owner, given.told); err != nil {
		given.withdraw()
		return Row{}, errors.Join(err, ps.discard(ctx, p.id, h))
	}
	failpoint.Pass(failpoint.RelaunchReplaced)
	given.settle()
	old.takeAway() // who looked at it is sent away
	ps.noted(p.id, p.Facts())
	ps.tell(id)
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	failpoint.Pass(failpoint.RelaunchKept)
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
	case at.Relaunch != nil: // of an earlier spawnd, or its worker did not end
		return nil, "", fmt.Errorf("relaunch %s: %w", id, topology.ErrRelaunching)
	}
	tree, fresh, err := ps.mu.tree.ReservePane()
	if err != nil {
		return nil, "", err
	}
	ps.putLocked(ps.mu.tree, tree)
	return ps.mu.byID[id], fresh, nil
}

// launch starts the program for a pane that is not in the tree yet, and waits until it runs or has failed to. An error
// means that it certainly has not run. A program that ran, however shortly, has an end; one of which its worker said
// nothing before it was gone may have run. One of which nothing is heard is taken for what it most likely is, as by begun.
func (ps *panes) launch(ctx context.Context, archive, id string, n NewPane) (*pane, *fleet.Handle, error) {
	worker := endpoint.NewSessionID()
	spec := ps.spec(n, id, worker)
	spec.BeforeStart = func() error {
		return ps.beginRelaunch(archive, topology.Start{Worker: string(worker), Argv0: spec.Argv[0], Owner: n.Owner, ID: id})
	}
	h, err := ps.fleet.Launch(ctx, worker, spec)
	if err != nil { // and nothing runs
		ps.callOff(worker)
		if errors.Is(err, topology.ErrNotFound) { // the archive was closed meanwhile
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("%w: %w", errSpawn, err)
	}
	failpoint.Pass(failpoint.RelaunchLaunched)
	p := ps.drive(id, worker, h)
	late := time.NewTimer(beginMax)
	defer late.Stop()
	select { // and not ctx: what was started is not started again because its asker has gone
	case <-p.begun:
	case <-p.done:
	case <-late.C:
	}
	if !p.Facts().unstarted() {
		return p, h, nil
	}
	err = ps.discard(ctx, id, h)
	if err == nil { // a worker that does not end keeps its archive from being relaunched
		ps.callOff(worker)
	}
	return nil, nil, errors.Join(fmt.Errorf("%w: its worker says so", errSpawn), err)
}

// beginRelaunch writes down what is about to be started. Without that nothing is.
func (ps *panes) beginRelaunch(archive string, s topology.Start) error {
	ps.mu.Lock()
	before := ps.mu.tree
	tree, err := before.BeginRelaunch(archive, s)
	if err == nil {
		ps.putLocked(before, tree)
	}
	ps.mu.Unlock()
	if err != nil {
		return err
	}
	if err := ps.write(); err != nil {
		return fmt.Errorf("write down what is about to be started: %w", err)
	}
	failpoint.Pass(failpoint.RelaunchBegun)
	return nil
}

// callOff is the end of a relaunch of which nothing runs, if the worker is of one.
func (ps *panes) callOff(worker endpoint.SessionID) {
	ps.mu.Lock()
	before := ps.mu.tree
	_, begun := before.RelaunchBy(string(worker))
	ps.putLocked(before, before.CallOff(string(worker)))
	ps.mu.Unlock()
	if !begun {
		return
	}
	if err := ps.write(); err != nil {
		ps.log.Error("an archive may be taken for relaunched at the next start", "error", err)
	}
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
func (ps *panes) replace(id string, p *pane, owner string, given []events.Change) error {
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
	ps.putWithLocked(before, tree, aside{before: given})
	delete(ps.mu.byID, id)
	ps.mu.byID[p.id] = p
	return nil
}

// An endowment is what a pane that is about to be made was given beside its own: told with the pane's coming, and
// then settled; or withdrawn.
type endowment struct {
	told     []events.Change
	settle   func()
	withdraw func()
}

// endowing gives something to the pane whose id was given out. An error means that nothing was given.
type endowing func(pane string) (endowment, error)

// endow passes on what a principal has. Whoever lacks a right of it is refused before anything is started.
func (s *Supervisor) endow(by access.Principal, scopes []verbs.Scope) endowing {
	return func(pane string) (endowment, error) {
		if len(scopes) == 0 {
			return endowment{settle: func() {}, withdraw: func() {}}, nil
		}
		grant, err := s.authority.IssueAhead(by, access.GrantOrder{
			To: access.Principal{Kind: access.KindPane, ID: pane}, Scopes: mapped(scopes, scopeOf),
		})
		if err != nil {
			return endowment{}, err
		}
		issued, _ := rightsEvent(grant.Issued(), topology.Tree{}) // of a grant there is always one, and no link among them
		return endowment{told: []events.Change{issued}, settle: grant.Settle, withdraw: grant.Withdraw}, nil
	}
}
