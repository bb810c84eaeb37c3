// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/loginenv"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/topology"
)

var (
	// ErrNotFound means that there is no pane of that id.
	ErrNotFound = errors.New("no such terminal")
	// ErrEnded means that the pane's terminal has ended: there is nothing to attach to.
	ErrEnded = errors.New("the terminal has ended")
	// ErrClosing means that spawnd is on its way out and starts nothing any more.
	ErrClosing = errors.New("spawnd is shutting down")

	errStart = errors.New("the terminal could not be started")
)

// NewPane says how a terminal starts. The zero value is the user's login shell in their home.
type NewPane struct {
	Argv       []string // nil: what the settings say, else the login shell
	Cwd        string   // "": the home folder
	Cols, Rows uint16
	Name       string
}

// Row is one pane as lists show it.
type Row struct {
	Facts
	ID      string
	Worker  endpoint.SessionID // that backs it, or did; "" for an archive
	Name    string
	Session string // id of the session of windows that it is in
	Window  string
	Index   int // of the window within its session
	Layer   topology.Layer
	Tags    []topology.Tag    // by growing key; not to be written to
	Archive *topology.Archive // nil unless it was restored; not to be written to
}

// panes is every terminal that spawnd knows, and the tree that arranges them.
type panes struct {
	fleet   *fleet.Fleet
	store   *topology.Store
	account loginenv.Account
	environ []string // spawnd's own, from which a shell's is made
	version string
	inForce inForce
	board   *page.Board // what pages see of all this
	log     *slog.Logger
	told    *chronicle // who is told what happens; nil: nobody
	keeper  *keeper    // of checkpoints

	ctx      context.Context // of every pane's run; ends with close
	cancel   context.CancelFunc
	running  sync.WaitGroup // panes and launches
	starting sync.WaitGroup // launches alone
	dirty    chan struct{}  // 1 slot: the tree must be saved

	mu struct {
		sync.Mutex
		tree    topology.Tree
		byID    map[string]*pane // all panes of the tree whose worker was ever connected
		closing bool
	}
	relaunching chan struct{} // 1 slot: held while an archive is being replaced

	saving  sync.Mutex // orders writes of the tree; taken before mu
	telling sync.Mutex // orders what pages are told; taken before mu

	refused []*fleet.Refusal // workers that were left alone at start

	unlocked sync.Once // the first worker that could not lock its key is logged, the others are alike
}

// New starts a terminal and returns its pane. When it returns without error the pane is on disk.
func (ps *panes) New(ctx context.Context, n NewPane) (Row, error) {
	if err := ps.begin(); err != nil {
		return Row{}, err
	}
	defer ps.began()
	worker := endpoint.NewSessionID()
	place, err := ps.place(worker, n.Name)
	if err != nil {
		return Row{}, err
	}
	h, err := ps.fleet.Launch(ctx, worker, ps.spec(n, place.ID))
	if err != nil {
		ps.forget(place.ID)
		return Row{}, fmt.Errorf("%w: %w", errStart, err)
	}
	ps.drive(place.ID, worker, h)
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	return ps.Row(place.ID)
}

// begin counts an operation that may start something, unless spawnd is closing.
func (ps *panes) begin() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.mu.closing {
		return ErrClosing
	}
	ps.running.Add(1)
	ps.starting.Add(1)
	return nil
}

// began ends what begin began.
func (ps *panes) began() {
	ps.starting.Done()
	ps.running.Done()
}

func (ps *panes) place(worker endpoint.SessionID, name string) (topology.Pane, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	tree, at, err := ps.mu.tree.NewPane("", topology.Start{Worker: string(worker), Name: name})
	if err == nil {
		ps.mu.tree = tree
	}
	return at, err
}

func (ps *panes) spec(n NewPane, id string) fleet.Spec {
	s := fleet.Spec{
		Argv: n.Argv, Cwd: n.Cwd, Cols: n.Cols, Rows: n.Rows,
		Env: loginenv.Environ(ps.environ, ps.account, loginenv.Place{Pane: id, Version: ps.version}),
	}
	if len(s.Argv) == 0 {
		s.Argv = ps.inForce.shellCommand()
	}
	if len(s.Argv) == 0 {
		s.Argv = ps.account.Argv()
	}
	s.Cwd = cmp.Or(s.Cwd, ps.account.Home)
	cols, rows := ps.inForce.terminalSize()
	s.Cols, s.Rows = cmp.Or(s.Cols, cols), cmp.Or(s.Rows, rows)
	s.Limits = ps.inForce.terminalLimits()
	return s
}

// drive gives the pane its run. The caller has made the pane's place in the tree.
func (ps *panes) drive(id string, worker endpoint.SessionID, h *fleet.Handle) {
	p := ps.newTerminal(id, worker, h)
	ps.mu.Lock()
	if at, ok := ps.mu.tree.Pane(id); ok {
		p.mu.facts.Title = at.Title
	}
	ps.mu.byID[id] = p
	ps.mu.Unlock()
	ps.run(p, h)
	ps.tell(id)
}

// newTerminal is a pane that shows a worker's terminal, before its run.
func (ps *panes) newTerminal(id string, worker endpoint.SessionID, h *fleet.Handle) *pane {
	p := &pane{
		id: id, worker: worker, fleet: ps.fleet, log: ps.log, viewersMax: ps.inForce.viewersMax,
		changed: make(chan struct{}, 1), ready: make(chan struct{}), done: make(chan struct{}),
	}
	hello := h.Hello()
	if !hello.Can(wire.CapLockedKey) {
		ps.unlocked.Do(func() {
			ps.log.Warn("keys of terminals' logs may be swapped out or dumped: raise LimitMEMLOCK", "first_session", worker)
		})
	}
	p.mu.facts = Facts{State: StateRunning, PID: h.WorkerPID(), Cols: hello.Cols, Rows: hello.Rows}
	p.onFacts = func(f Facts) { ps.noted(id, f) }
	return p
}

// run begins the pane's run. The caller keeps close from being over meanwhile.
func (ps *panes) run(p *pane, h *fleet.Handle) {
	ps.running.Add(1)
	go func() {
		defer ps.running.Done()
		p.run(ps.ctx, h)
	}()
}

// noted keeps in the tree what must outlive spawnd of a pane's new facts, and tells the watchers.
func (ps *panes) noted(id string, f Facts) {
	ps.mu.Lock()
	tree, err := ps.mu.tree.SetTitle(id, f.Title)
	switch {
	case err != nil: // the pane was closed
	case f.State == StateLost:
		tree, err = tree.Lost(id)
	case f.Exit != nil:
		tree, err = tree.Ended(id, topology.End{ExitCode: f.Exit.ExitCode, Signal: f.Exit.Signal})
	}
	changed := err == nil && !tree.Equal(ps.mu.tree)
	if changed {
		if p := ps.mu.byID[id]; p != nil && !p.asked.Load() && runningIn(tree) < runningIn(ps.mu.tree) {
			ps.keeper.ended(runningIn(tree))
		}
		ps.mu.tree = tree
	}
	ps.mu.Unlock()
	if changed {
		ps.soil()
	}
	ps.tell(id)
}

// soil has the tree written soon.
func (ps *panes) soil() {
	select {
	case ps.dirty <- struct{}{}:
	default:
	}
}

// Close ends a pane's terminal and takes the pane away. It does not wait for a shell that ignores TERM
// any longer than the two seconds after which KILL follows.
func (ps *panes) Close(ctx context.Context, id string) error {
	ps.mu.Lock()
	_, known := ps.mu.tree.Pane(id)
	p := ps.mu.byID[id]
	ps.mu.Unlock()
	if !known {
		return fmt.Errorf("close %q: %w", id, ErrNotFound)
	}
	if p != nil {
		if err := p.terminate(ctx); err != nil {
			return fmt.Errorf("close %s: %w", id, err)
		}
	}
	ps.forget(id)
	if err := ps.save(); err != nil {
		ps.log.Error("names and ids of terminals are not saved", "error", err)
	}
	return nil
}

// forget takes a pane out of the tree.
func (ps *panes) forget(id string) {
	ps.mu.Lock()
	if tree, err := ps.mu.tree.Close(id); err == nil {
		ps.mu.tree = tree
	}
	p := ps.mu.byID[id]
	delete(ps.mu.byID, id)
	ps.mu.Unlock()
	if p != nil && p.archive != nil {
		p.archive.source.Close()
	}
	ps.tell(id)
}

// Rename gives a pane a name, or takes it away with "".
func (ps *panes) Rename(id, name string) error {
	ps.mu.Lock()
	_, known := ps.mu.tree.Pane(id)
	tree, err := ps.mu.tree.Rename(id, name)
	if known && err == nil {
		ps.mu.tree = tree
	}
	ps.mu.Unlock()
	if !known {
		return fmt.Errorf("rename %q: %w", id, ErrNotFound)
	}
	if err != nil {
		return err
	}
	ps.tell(id)
	return ps.save()
}

// Attach adds a viewer to a pane. The sink is the hub's, or is closed when there is an error.
func (ps *panes) Attach(id string, sink fanout.Sink, o fanout.AttachOptions) (*fanout.Viewer, error) {
	ps.mu.Lock()
	p := ps.mu.byID[id]
	_, known := ps.mu.tree.Pane(id)
	ps.mu.Unlock()
	switch {
	case p != nil && p.archive != nil: // it has its size, and nobody reads what is typed
		ps.expireTexts(ps.keeper.policy())
		o.ReadOnly, o.Cols, o.Rows = true, 0, 0
		return p.attach(sink, o)
	case p != nil:
		return p.attach(sink, o)
	case known:
		sink.Close()
		return nil, fmt.Errorf("attach to %s: %w", id, ErrEnded)
	}
	sink.Close()
	return nil, fmt.Errorf("attach to %q: %w", id, ErrNotFound)
}

// Viewers tells how a pane's viewers stand.
func (ps *panes) Viewers(id string) (fanout.Stats, error) {
	ps.mu.Lock()
	p := ps.mu.byID[id]
	_, known := ps.mu.tree.Pane(id)
	ps.mu.Unlock()
	switch {
	case p != nil:
		return p.stats()
	case known:
		return fanout.Stats{}, fmt.Errorf("list viewers of %s: %w", id, ErrEnded)
	}
	return fanout.Stats{}, fmt.Errorf("list viewers of %q: %w", id, ErrNotFound)
}

// Rows lists every pane: by session, by window, and by its place in the window.
func (ps *panes) Rows() []Row {
	ps.mu.Lock()
	tree := ps.mu.tree
	ps.mu.Unlock()
	places := tree.Places()
	rows := make([]Row, 0, len(tree.Panes))
	for _, at := range tree.List() {
		rows = append(rows, ps.row(at, places[at.Window]))
	}
	return rows
}

// Row returns one pane.
func (ps *panes) Row(id string) (Row, error) {
	ps.mu.Lock()
	tree := ps.mu.tree
	ps.mu.Unlock()
	at, ok := tree.Pane(id)
	if !ok {
		return Row{}, fmt.Errorf("look at %q: %w", id, ErrNotFound)
	}
	where, _ := tree.Locate(id)
	return ps.row(at, where), nil
}

func (ps *panes) row(at topology.Pane, where topology.Place) Row {
	ps.mu.Lock()
	p := ps.mu.byID[at.ID]
	ps.mu.Unlock()
	r := Row{
		ID: at.ID, Worker: endpoint.SessionID(at.SessionID), Name: at.Name, Session: where.Session, Window: where.Window, Index: where.Index,
		Layer: at.Layer(), Tags: at.Tags, Archive: at.Archive,
	}
	if p != nil && p.archive == nil {
		r.Facts = p.Facts()
		return r
	}
	r.Facts = Facts{State: StateRunning, Title: at.Title}
	if at.End != nil {
		r.Facts = ended(*at.End, at.Title)
	}
	if p != nil { // whatever an archive's hub says of an end, only the tree knows whether one was seen
		shown := p.Facts()
		r.Cols, r.Rows, r.Viewers = shown.Cols, shown.Rows, shown.Viewers
	}
	return r
}

func ended(e topology.End, title string) Facts {
	if !e.Known() {
		return Facts{State: StateLost, Title: title}
	}
	return Facts{State: StateExited, Title: title, Exit: &wire.Exit{ExitCode: e.ExitCode, Signal: e.Signal}}
}

// tell puts what is known of the pane where pages see it. One at a time, so that what is seen last is
// what was looked up last.
func (ps *panes) tell(id string) {
	ps.telling.Lock()
	defer ps.telling.Unlock()
	if row, err := ps.Row(id); err == nil {
		ps.board.Put(paneInfo(row))
	} else {
		ps.board.Remove(id)
	}
}
