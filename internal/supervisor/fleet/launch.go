// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
)

// Launch starts a worker and, on it, the program. An error leaves nothing behind: no process, no file.
// Once START is written the worker is the program's keeper, and what becomes of the program is told by
// EXIT.
func (f *Fleet) Launch(ctx context.Context, id endpoint.SessionID, s Spec) (*Handle, error) {
	start, err := s.frame() // first of all: a spec that cannot be sent costs nothing
	if err != nil {
		return nil, fmt.Errorf("launch terminal %s: %w", id, err)
	}
	defer clear(start) // environments hold secrets
	if err := f.claim(id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, launchTimeout)
	defer cancel()
	c, err := f.launch(ctx, id, start, s)
	if err != nil {
		f.release(id, nil)
		return nil, fmt.Errorf("launch terminal %s: %w", id, err)
	}
	c.hello.State, c.hello.Cols, c.hello.Rows = wire.StateRunning, s.Cols, s.Rows
	h := f.drive(id, c)
	h.spec = &s
	return h, nil
}

// launch runs the steps of the drawing at the top of the package, in order.
func (f *Fleet) launch(ctx context.Context, id endpoint.SessionID, start []byte, s Spec) (*contact, error) {
	p, err := f.fork(id, s.Log)
	if err != nil {
		return nil, err
	}
	c, err := f.bringUp(ctx, p, id, start, s)
	if err != nil {
		return nil, errors.Join(err, f.abandon(ctx, p, id))
	}
	return c, nil
}

func (f *Fleet) bringUp(ctx context.Context, p *process, id endpoint.SessionID, start []byte, s Spec) (*contact, error) {
	if err := p.awaitReady(ctx); err != nil {
		return nil, err
	}
	failpoint.Pass(failpoint.LaunchReady)
	f.scope(ctx, p.pid(), id, s.Limits)
	failpoint.Pass(failpoint.LaunchScoped)
	c, seen, err := f.approach(ctx, id)
	if seen.hello != helloWaiting {
		if err == nil { // a free reservation, or a worker that somebody else has started
			err = fmt.Errorf("worker is not the one that was forked (row %c)", decide(seen).letter)
		}
		return nil, errors.Join(err, closeContact(c))
	}
	failpoint.Pass(failpoint.LaunchGreeted)
	if s.BeforeStart != nil {
		if err := s.BeforeStart(); err != nil {
			return nil, errors.Join(err, c.conn.Close())
		}
	}
	failpoint.Tear(failpoint.StartTorn, start, func(half []byte) { c.conn.Write(half) })
	if err := c.write(ctx, start); err != nil {
		return nil, errors.Join(fmt.Errorf("send START: %w", err), c.conn.Close())
	}
	failpoint.Pass(failpoint.LaunchStarted)
	return c, nil
}

func closeContact(c *contact) error {
	if c == nil {
		return nil
	}
	return c.conn.Close()
}

// scope is best effort: a terminal without limits is worth more than none. But nobody is left to believe in limits that do not
// hold, so of each terminal that was to have some it is said. It comes before START, because only what the worker starts later is
// born in the scope.
func (f *Fleet) scope(ctx context.Context, pid int, id endpoint.SessionID, limits Limits) {
	ctx, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()
	err := f.scoper.Adopt(ctx, pid, id, limits)
	switch {
	case err == nil:
	case limits != (Limits{}):
		f.log.Warn("a terminal runs without its limits: it gets no scope of its own", "session", id, "error", err)
	default:
		f.unscoped.Do(func() {
			f.log.Warn("terminals get no scope of their own; KillMode=process keeps them over a restart", "error", err)
		})
	}
}

// abandon kills a worker that has no terminal yet, waits for its end and removes what it left.
func (f *Fleet) abandon(ctx context.Context, p *process, id endpoint.SessionID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	failpoint.Pass(failpoint.LaunchAbandoned)
	if err := p.kill(ctx); err != nil {
		return err
	}
	failpoint.Pass(failpoint.LaunchKilled)
	err := f.sweepFreed(ctx, id)
	failpoint.Pass(failpoint.LaunchSwept)
	return err
}

// sweepFreed removes what a dead worker left. Another worker that was forked at the same time has a copy of the lock until its
// program is loaded, for forks run side by side; of that moment nobody is told.
func (f *Fleet) sweepFreed(ctx context.Context, id endpoint.SessionID) error {
	look := time.NewTicker(lossPoll)
	defer look.Stop()
	for {
		err := f.folder.Sweep(id)
		if !errors.Is(err, endpoint.ErrReserved) {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}
