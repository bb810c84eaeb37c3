// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// endTimeout bounds the end of all terminals together. One that ignores TERM is killed after two seconds;
// the rest is for a host under load. With the second that readers of events have (stopPatience), the text before
// (textWithinFinal) and the last checkpoint behind (recovery.FinalDeadline) it is within the unit's TimeoutStopSec.
const endTimeout = 6 * time.Second

// Shutdown chooses what becomes of the terminals. Of several that ask, the first is heeded.
func (s verbServer) Shutdown(_ context.Context, p verbs.ServerShutdownParams) (func(), error) {
	return func() {
		if s.asked.CompareAndSwap(nil, &p.Sessions) {
			s.o.Log.Info("spawnd was asked to end", "sessions", p.Sessions)
			s.keeper.endAsked()
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
	ps.starting.Wait() // bounded by each start's own context, which has ended, and by beginMax
	ps.mu.Lock()
	tree := ps.mu.tree
	ps.mu.Unlock()
	ended, err = ps.endEach(ctx, mapped(tree.Panes, func(p topology.Pane) string { return p.ID }))
	if err = errors.Join(err, ps.fleet.AwaitChildren(ctx)); err != nil {
		return ended, fmt.Errorf("end every terminal: %w", err)
	}
	ps.log.Info("every terminal is ended", "panes", len(ended))
	return ended, nil
}

// forgetAll takes the panes away. Those that may still run stay, for the next spawnd.
func (ps *panes) forgetAll(ids []string) error {
	_, err := ps.arrange(func(t topology.Tree) (topology.Tree, error) { return withoutPanes(t, ids) })
	ps.drop(ids)
	return err
}
