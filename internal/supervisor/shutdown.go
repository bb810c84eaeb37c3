// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// endTimeout bounds the end of all terminals together. One that ignores TERM is killed after two seconds;
// the rest is for a host under load, and still within the unit's TimeoutStopSec.
const endTimeout = 6 * time.Second

// endTerminals ends every terminal, if that is what the settings want of a shutdown. ctx has ended by then.
func (s *Supervisor) endTerminals(ctx context.Context) error {
	if !s.inForce.endsTerminals() {
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
	ps.mu.Unlock()
	var (
		ending sync.WaitGroup
		mu     sync.Mutex
		errs   []error
	)
	for _, row := range ps.Rows() {
		ending.Go(func() {
			if err := ps.Close(ctx, row.ID); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	ending.Wait()
	if err := ps.fleet.AwaitChildren(ctx); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return fmt.Errorf("end every terminal: %w", errors.Join(errs...))
	}
	ps.log.Info("every terminal is ended")
	return nil
}
