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
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/loginenv"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/shellmarks"
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
	Owner      string // who asked for it, for the tag owner; "" for none
}

// Row is one pane as lists show it.
type Row struct {
	Facts
	ID     string
	Worker endpoint.SessionID // that backs it, or did; "" for an archive
	Name   string
	Argv0  string // name of what it was started with; "" when it is not known
	seat
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
	marks   shellmarks.Scripts
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
		unsure  map[string]bool  // panes of which it is not known yet whether their programs can be started
		asked   uint64           // how often the tree was to be saved
		renewed map[string]bool  // panes whose program is being restarted; nil before the first
		closing bool
	}
	relaunching chan struct{} // 1 slot: held while an archive is being replaced

	saving  sync.Mutex // orders writes of the tree; taken before mu
	written uint64     // of asked, those whose change is on disk; guarded by saving
	telling sync.Mutex // orders what pages are told; taken before mu

	refused []*fleet.Refusal // workers that were left alone at start
	strays  bool             // workers without a pane may have left processes that nothing ties to them

	unlocked sync.Once // the first worker that could not lock its key is logged, the others are alike
}

// New starts a terminal in a window of its own and returns its pane. When it returns without error the
// pane is on disk.
func (ps *panes) New(ctx context.Context, n NewPane) (Row, error) {
	return ps.start(ctx, n, inOwnWindow(""))
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

// argv is the command of a new pane: the given one, else that of the settings, else the login shell.
func (ps *panes) argv(n NewPane) []string {
	argv := n.Argv
	if len(argv) == 0 {
		argv = ps.inForce.shellCommand()
	}
	if len(argv) == 0 {
		argv = ps.account.Argv()
	}
	return argv
}

func (ps *panes) spec(n NewPane, id string, worker endpoint.SessionID) fleet.Spec {
	s := fleet.Spec{
		Argv: ps.argv(n), Cwd: n.Cwd, Cols: n.Cols, Rows: n.Rows,
		Env: loginenv.Environ(ps.environ, ps.account, loginenv.Place{Pane: id, Version: ps.version}),
	}
	if len(n.Argv) == 0 && ps.inForce.shellIntegration() { // a program that somebody names starts as it is
		s.Argv, s.Env = ps.marks.Dress(string(worker), s.Argv, s.Env)
	}
	s.Cwd = cmp.Or(s.Cwd, ps.account.Home)
	cols, rows := ps.inForce.terminalSize()
	s.Cols, s.Rows = cmp.Or(s.Cols, cols), cmp.Or(s.Rows, rows)
	s.Limits, s.Log = ps.inForce.terminalLimits(), ps.inForce.terminalLog()
	return s
}

// drive gives the pane its run. The caller has made the pane's place in the tree.
func (ps *panes) drive(id string, worker endpoint.SessionID, h *fleet.Handle) *pane {
	p := newPane(id, worker, ps.fleet, ps.log)
	p.argv0 = h.Argv0()
	p.viewersMax = ps.inForce.viewersMax
	p.nonce = ps.marks.Nonce(string(worker))
	hello := h.Hello()
	if !hello.Can(wire.CapLockedKey) {
		ps.unlocked.Do(func() {
			ps.log.Warn("keys of terminals' logs may be swapped out or dumped: raise LimitMEMLOCK", "first_session", worker)
		})
	}
	p.mu.facts = Facts{State: StateRunning, PID: h.WorkerPID(), Cols: hello.Cols, Rows: hello.Rows}
	p.onFacts = func(f Facts) { ps.noted(id, f) }
	p.onReport = func(r fanout.Report) { ps.reported(id, r) }
	ps.mu.Lock()
	if at, ok := ps.mu.tree.Pane(id); ok {
		p.mu.facts.Title = at.Title
	}
	ps.mu.Unlock()
	hub := p.connect(h) // before anybody can ask for the pane: it must not say that it has ended
	ps.mu.Lock()
	ps.mu.byID[id] = p
	ps.running.Add(1)
	ps.mu.Unlock()
	go func() {
		defer ps.running.Done()
		p.run(ps.ctx, hub)
	}()
	ps.tell(id)
	return p
}

// noted keeps in the tree what must outlive spawnd of a pane's new facts, and tells the watchers.
func (ps *panes) noted(id string, f Facts) {
	ps.mu.Lock()
	before := ps.mu.tree
	tree, changed := withFacts(before, id, f)
	if changed {
		if p := ps.mu.byID[id]; p != nil && !p.asked.Load() && runningIn(tree) < runningIn(before) {
			ps.keeper.ended(runningIn(tree))
		}
		ps.putLocked(before, tree)
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

// withFacts returns the tree with what it keeps of a pane's facts, and whether that is new. Most news are of
// something else, and then the tree, which may be large, is neither copied nor compared.
func withFacts(t topology.Tree, id string, f Facts) (topology.Tree, bool) {
	over := f.State == StateLost || f.Exit != nil
	if at, known := t.Pane(id); !known || at.Title == f.Title && !over {
		return t, false // unknown: the pane was closed
	}
	next, err := t.SetTitle(id, f.Title)
	switch {
	case err != nil:
	case f.State == StateLost:
		next, err = next.Lost(id)
	case f.Exit != nil:
		next, err = next.Ended(id, topology.End{ExitCode: f.Exit.ExitCode, Signal: f.Exit.Signal})
	}
	if err != nil || next.Equal(t) {
		return t, false
	}
	return next, true
}

// Rename gives a pane a name, or takes it away with "".
func (ps *panes) Rename(id, name string) error {
	_, err := ps.arrange(func(t topology.Tree) (topology.Tree, error) {
		if _, known := t.Pane(id); !known {
			return t, fmt.Errorf("rename %q: %w", id, ErrNotFound)
		}
		return t.Rename(id, name)
	})
	return err
}

// Steer does what a viewer of a pane may, on its behalf.
func (ps *panes) Steer(id string, op control.Op, viewer control.ViewerID) error {
	hub, err := ps.hub(id)
	if err != nil {
		return fmt.Errorf("steer %q: %w", id, err)
	}
	return hub.Steer(op, viewer)
}

// hub returns what serves a pane's viewers, while a worker is connected.
func (ps *panes) hub(id string) (*fanout.Hub, error) {
	ps.mu.Lock()
	p := ps.mu.byID[id]
	_, known := ps.mu.tree.Pane(id)
	ps.mu.Unlock()
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.mu.hub != nil {
			return p.mu.hub, nil
		}
	}
	if !known {
		return nil, ErrNotFound
	}
	return nil, ErrEnded
}

// Attach adds a viewer to a pane. The sink is the hub's, or is closed when there is an error.
func (ps *panes) Attach(id string, sink fanout.Sink, o fanout.AttachOptions) (*fanout.Viewer, error) {
	if ps.isArchive(id) { // it has its size, and nobody reads what is typed
		ps.expireTexts(ps.keeper.policy())
		o.ReadOnly, o.Cols, o.Rows = true, 0, 0
	}
	hub, err := ps.hub(id)
	if err != nil {
		sink.Close()
		return nil, fmt.Errorf("attach to %q: %w", id, err)
	}
	return hub.Attach(sink, o)
}

// Viewers tells how a pane's viewers stand.
func (ps *panes) Viewers(id string) (fanout.Stats, error) {
	hub, err := ps.hub(id)
	if err != nil {
		return fanout.Stats{}, fmt.Errorf("list viewers of %q: %w", id, err)
	}
	return hub.Stats(), nil
}

// Rows lists every pane: by session, by window, and by its place in the window.
func (ps *panes) Rows() []Row {
	ps.mu.Lock()
	tree := ps.mu.tree
	ps.mu.Unlock()
	at := seats(tree)
	return mapped(tree.List(), func(p topology.Pane) Row { return ps.row(p, at[p.ID]) })
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
	return ps.row(at, seatOf(tree, at)), nil
}

func (ps *panes) row(at topology.Pane, where seat) Row {
	ps.mu.Lock()
	p := ps.mu.byID[at.ID]
	ps.mu.Unlock()
	r := Row{
		ID: at.ID, Worker: endpoint.SessionID(at.SessionID), Name: at.Name, Argv0: at.Argv0, seat: where, Tags: at.Tags, Archive: at.Archive,
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
	ps.mu.Lock()
	unsure := ps.mu.unsure[id]
	ps.mu.Unlock()
	if unsure {
		return // a page would show it, and take it away again
	}
	if row, err := ps.Row(id); err == nil {
		ps.board.Put(paneInfo(row))
	} else {
		ps.board.Remove(id)
	}
}
