// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/topology"
)

// beginMax is how long a new terminal's first word is waited for. It comes within milliseconds of START; one
// that is late is taken for what it most likely is: running, on a host under load.
const beginMax = 5 * time.Second

// spot makes the place of a new pane in a tree.
type spot func(topology.Tree, topology.Start) (topology.Tree, topology.Pane, error)

// inOwnWindow is at the end of the session; "" is the first one, which is made when there is none.
func inOwnWindow(session string) spot {
	return func(t topology.Tree, s topology.Start) (topology.Tree, topology.Pane, error) {
		return t.NewPane(session, s)
	}
}

// beside is in a window's tree.
func beside(to topology.Spot) spot {
	return func(t topology.Tree, s topology.Start) (topology.Tree, topology.Pane, error) { return t.Split(to, s) }
}

// start starts a terminal at a place of its own. When its program cannot be started nothing is left: no
// worker, and no pane in the tree.
func (ps *panes) start(ctx context.Context, n NewPane, at spot) (Row, error) {
	if err := ps.begin(); err != nil {
		return Row{}, err
	}
	defer ps.began()
	worker := endpoint.NewSessionID()
	place, err := ps.place(at, topology.Start{Worker: string(worker), Name: n.Name, Argv0: ps.argv(n)[0], Owner: n.Owner})
	if err != nil {
		return Row{}, err
	}
	defer ps.settled(place.ID)
	failpoint.Pass(failpoint.PanePlaced)
	h, err := ps.fleet.Launch(ctx, worker, ps.spec(n, place.ID, worker))
	if err != nil {
		ps.takeBack(place.ID)
		return Row{}, fmt.Errorf("%w: %w", errStart, err)
	}
	failpoint.Pass(failpoint.PaneLaunched)
	p := ps.drive(place.ID, worker, h)
	failpoint.Pass(failpoint.PaneDriven)
	if err := ps.begun(ctx, p); err != nil {
		return Row{}, err
	}
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	failpoint.Pass(failpoint.PaneKept)
	return ps.Row(place.ID)
}

// place keeps the place at once, so that nobody else gets its id. Pages hear of it when the program is known to run.
func (ps *panes) place(at spot, s topology.Start) (topology.Pane, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	before := ps.mu.tree
	after, place, err := at(before, s)
	if err == nil {
		ps.mu.unsure[place.ID] = true
		ps.putLocked(before, after)
	}
	return place, err
}

// settled ends what place began: pages hear of the pane, if it is there.
func (ps *panes) settled(id string) {
	ps.mu.Lock()
	delete(ps.mu.unsure, id)
	ps.mu.Unlock()
	ps.tell(id)
}

// takeBack is forget for a pane whose program could not be started, which is told with it.
func (ps *panes) takeBack(id string) {
	if ps.told != nil {
		ps.mu.Lock()
		ps.told.unstarted[id] = true
		ps.mu.Unlock()
		defer func() {
			ps.mu.Lock()
			delete(ps.told.unstarted, id)
			ps.mu.Unlock()
		}()
	}
	ps.forget(id)
}

// begun waits until it is known what became of a program, and takes the pane away when it could not be
// started, or when somebody closed the pane before its worker was there.
func (ps *panes) begun(ctx context.Context, p *pane) error {
	late := time.NewTimer(beginMax)
	defer late.Stop()
	select {
	case <-p.begun:
	case <-p.done:
	case <-late.C:
	case <-ctx.Done():
	}
	ps.mu.Lock()
	_, wanted := ps.mu.tree.Pane(p.id)
	ps.mu.Unlock()
	if wanted && !p.Facts().unstarted() {
		return nil
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err := p.terminate(ending)
	ps.takeBack(p.id)
	switch {
	case err != nil:
		return fmt.Errorf("%w, and its worker does not end: %w", errStart, err)
	case !wanted:
		return fmt.Errorf("%w: it was closed meanwhile", errStart)
	}
	return fmt.Errorf("%w: there is no such program or folder, or they are not allowed", errStart)
}
