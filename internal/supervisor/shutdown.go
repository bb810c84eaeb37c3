// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/topology"
)

// endTimeout bounds the end of all terminals together. One that ignores TERM is killed after two seconds;
// the rest is for a host under load, and still within the unit's TimeoutStopSec.
const endTimeout = 6 * time.Second

// endTerminals ends every terminal, if that is what the settings want of a shutdown. ctx has ended by then.
func (s *Supervisor) endTerminals(ctx context.Context) error {
	if s.settings.Effective().Shutdown.Sessions != config.SessionsTerminate {
		s.o.Log.Info("detached; terminals go on")
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return s.panes.endAll(ctx)
}

// endAll starts nothing more, ends every terminal and takes its pane away, all at once: a stubborn one
// delays nobody. An error names what may still run; its pane stays, for the next spawnd.
func (ps *panes) endAll(ctx context.Context) error {
	ps.mu.Lock()
	ps.mu.closing = true
	tree := ps.mu.tree
	ps.mu.Unlock()
	all := mapped(tree.Panes, func(p topology.Pane) string { return p.ID })
	ended, failed := ps.endEach(ctx, all)
	_, kept := ps.arrange(func(t topology.Tree) (topology.Tree, error) { return withoutPanes(t, ended) })
	ps.drop(ended)
	if err := errors.Join(failed, kept, ps.fleet.AwaitChildren(ctx)); err != nil {
		return fmt.Errorf("end every terminal: %w", err)
	}
	ps.log.Info("every terminal is ended")
	return nil
}
