// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/verbs"
)

// endTimeout bounds the end of all terminals together. One that ignores TERM is killed after two seconds;
// the rest is for a host under load, and still within the unit's TimeoutStopSec.
const endTimeout = 6 * time.Second

// Shutdown chooses what becomes of the terminals. Of several that ask, the first is heeded.
func (s verbServer) Shutdown(_ context.Context, p verbs.ServerShutdownParams) (func(), error) {
	return func() {
		if s.asked.CompareAndSwap(nil, &p.Sessions) {
			s.o.Log.Info("spawnd was asked to end", "sessions", p.Sessions)
		}
		s.stop()
	}, nil
}

// ends reports whether the terminals end with spawnd: who asked it to end says so, or the settings do.
func (s *Supervisor) ends() bool {
	if asked := s.asked.Load(); asked != nil && *asked != "" {
		return *asked == config.SessionsTerminate
	}
	return s.inForce.endsTerminals()
}

// endTerminals ends every terminal, if that is what is wanted. ctx has ended by then.
//
//	texts are kept ─ nothing new starts ─ TERM, 2 s, KILL ─ reaped, ends in the tree ─ lastWord ─ panes forgotten
func (s *Supervisor) endTerminals(ctx context.Context) error {
	if !s.ends() {
		s.o.Log.Info("detached; terminals go on")
		return s.keeper.final(ctx, recovery.ShutdownOpen)
	}
	s.keeper.part(context.WithoutCancel(ctx))
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	ended, err := s.panes.endAll(ending)
	if s.lastWord != nil { // bounds its own time
		err = errors.Join(err, s.lastWord(context.WithoutCancel(ctx), err == nil))
	}
	return errors.Join(err, s.panes.forgetAll(ended))
}

// endAll starts nothing more, ends every terminal and reaps its worker, all at once: a stubborn one delays
// nobody. It returns the panes that nothing runs in any more; how each ended is in the tree by then. An error
// names what may still run.
func (ps *panes) endAll(ctx context.Context) (ended []string, err error) {
	ps.mu.Lock()
	ps.mu.closing = true
	ps.mu.Unlock()
	ps.starting.Wait() // bounded by each start's own context, which has ended
	var (
		ending sync.WaitGroup
		mu     sync.Mutex
		errs   []error
	)
	for _, row := range ps.Rows() {
		ending.Go(func() {
			err := ps.end(ctx, row)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else {
				ended = append(ended, row.ID)
			}
		})
	}
	ending.Wait()
	if err := ps.fleet.AwaitChildren(ctx); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return ended, fmt.Errorf("end every terminal: %w", errors.Join(errs...))
	}
	ps.log.Info("every terminal is ended", "panes", len(ended))
	return ended, nil
}

// end ends what runs in the pane. One whose worker was left alone at start cannot be reached.
func (ps *panes) end(ctx context.Context, row Row) error {
	ps.mu.Lock()
	p := ps.mu.byID[row.ID]
	ps.mu.Unlock()
	switch {
	case p != nil:
		if err := p.terminate(ctx); err != nil {
			return fmt.Errorf("end %s: %w", row.ID, err)
		}
	case row.State == StateRunning && row.Archive == nil:
		return fmt.Errorf("end %s: its worker %s is not connected", row.ID, row.Worker)
	}
	return nil
}

// forgetAll takes the panes away. Those that may still run stay, for the next spawnd.
func (ps *panes) forgetAll(ids []string) error {
	for _, id := range ids {
		ps.forget(id)
	}
	return ps.save()
}
