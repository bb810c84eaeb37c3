// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"spawn/internal/sessiond/vfs/points"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
)

const (
	// textWithin and textWithinFinal bound how long a checkpoint waits for terminals' text. The second leaves
	// the last checkpoint more than half of its 2000 ms for the disk.
	textWithin      = 5 * time.Second
	textWithinFinal = 800 * time.Millisecond
	// tidyMax is the longest time between two looks at what has expired: a clock that was set, or that
	// stood still while the machine slept, is found out then.
	tidyMax = time.Minute
)

// keeper keeps checkpoints: it decides when one is due, has it written, and removes what may not be kept.
//
// Locks: panes.mu before mu. The store has its own, under which it waits for the disk; nothing is held when
// it is called.
type keeper struct {
	store *recovery.Store // nil until open
	panes *panes          // likewise
	log   *slog.Logger
	kick  chan struct{} // 1 slot: what is due next may be another
	// parted is the text of terminals from right before they were ended, by pane; nil before that.
	parted map[string]recovery.Rows

	mu struct {
		sync.Mutex
		schedule *recovery.Schedule // nil until open
		policy   recovery.Policy
		tidied   time.Time
		restored bool // archives are, or were, shown: nobody knows whether their processes ended
	}
}

func newKeeper(log *slog.Logger) *keeper {
	return &keeper{log: log, kick: make(chan struct{}, 1)}
}

// open opens the store below the folder of state and makes it what the policy asks for, before anybody is
// served. The caller holds the socket's lock and has adopted what lives.
func (k *keeper) open(folders config.Folders, uid int, p recovery.Policy, ps *panes) error {
	base, identity, err := recovery.Locate(filepath.Dir(folders.State), "", folders.ControlSocket(), uid)
	if err != nil {
		return err
	}
	store, err := recovery.Open(recovery.Options{Files: points.Files(), Base: base, Identity: identity})
	if err != nil {
		return err
	}
	k.store, k.panes = store, ps
	adopted := ps.runningCount() > 0
	if err := store.Start(p, adopted); err != nil {
		return fmt.Errorf("make the recovery store what recovery.terminal_text and its limits ask for: %w", err)
	}
	k.mu.Lock()
	k.mu.policy, k.mu.schedule = p, recovery.NewSchedule(p, time.Now(), adopted)
	k.mu.Unlock()
	k.remount()
	return nil
}

// Close lets go of the store.
func (k *keeper) Close() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

func (k *keeper) policy() recovery.Policy {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.policy
}

// Prepare cleans up by new settings before they are in force: what they do not allow any more is gone, or
// the old ones stay. That cannot be undone, so it comes last.
func (k *keeper) Prepare(_ context.Context, next config.Config) (activate, discard func(), err error) {
	p := recoveryPolicy(next)
	if p == k.policy() {
		return nil, nil, nil
	}
	if err := k.store.SetPolicy(p); err != nil {
		return nil, nil, fmt.Errorf("clean up checkpoints: %w", err)
	}
	return func() {
		k.mu.Lock()
		k.mu.policy = p
		k.mu.schedule.SetPolicy(p, time.Now())
		k.mu.Unlock()
		k.panes.expireTexts(p)
		k.nudge()
	}, nil, nil
}

// acted says that somebody changed something on purpose. From then on there is something to lose.
func (k *keeper) acted() {
	k.mu.Lock()
	if k.mu.schedule != nil {
		k.mu.schedule.Activate(time.Now())
	}
	k.mu.Unlock()
	k.nudge()
}

// endAsked says that somebody asked for the end of spawnd, not a signal, which may be the host's.
func (k *keeper) endAsked() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.schedule.EndAsked()
}

// ended says that a terminal ended and nobody had asked for it. It may be called with panes.mu held.
func (k *keeper) ended(running int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.schedule != nil {
		k.mu.schedule.Ended(time.Now(), running)
	}
}

func (k *keeper) nudge() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// run writes what is due and removes what has expired, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	for {
		timer := time.NewTimer(k.wait())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-k.kick:
			timer.Stop()
		case <-timer.C:
		}
		k.tick(ctx)
	}
}

// wait is how long nothing is due.
func (k *keeper) wait() time.Duration {
	k.mu.Lock()
	p, now := k.mu.policy, time.Now()
	at := now.Add(min(p.Interval, tidyMax))
	if due, ok := k.mu.schedule.Wake(); ok && due.Before(at) {
		at = due
	}
	k.mu.Unlock()
	if expiry, ok := k.panes.nextExpiry(p); ok && expiry.Before(at) {
		at = expiry
	}
	return max(0, at.Sub(now))
}

func (k *keeper) tick(ctx context.Context) {
	k.mu.Lock()
	p, now := k.mu.policy, time.Now()
	due := k.mu.schedule.Due(now)
	tidy := p.Enabled && now.Sub(k.mu.tidied) >= p.Interval
	if due || tidy {
		k.mu.tidied = now
	}
	k.mu.Unlock()
	k.panes.expireTexts(p)
	switch {
	case due: // which tidies too
		if _, err := k.write(ctx, recovery.ShutdownOpen, textWithin); err != nil && ctx.Err() == nil {
			k.log.Warn("a checkpoint could not be written", "code", recovery.CodeOf(err), "error", err)
		}
	case tidy:
		if _, err := k.store.List(); err != nil {
			k.log.Warn("expired checkpoints could not be looked for", "error", err)
		}
	}
}

// request writes a checkpoint now, on purpose.
func (k *keeper) request(ctx context.Context) (recovery.Published, error) {
	k.mu.Lock()
	err := k.mu.schedule.Request(time.Now())
	k.mu.Unlock()
	if err != nil {
		return recovery.Published{}, err
	}
	return k.write(ctx, recovery.ShutdownOpen, textWithin)
}

// restore makes archives of a checkpoint. Only one that is valid is taken, and no other in its place.
func (k *keeper) restore(id, owner string) (topology.Mapping, error) {
	if !k.policy().Enabled {
		return topology.Mapping{}, fmt.Errorf("restore: %w", recovery.ErrDisabled)
	}
	c, err := k.store.Read(id)
	if err != nil {
		return topology.Mapping{}, err
	}
	ids, err := k.panes.restore(c, owner)
	if err != nil {
		return topology.Mapping{}, err
	}
	k.unsure()
	k.store.Restored(id)
	k.nudge()
	return ids, nil
}

// final writes the last checkpoint, unless the last good one is to stand. Nothing else of the keeper runs any
// more.
func (k *keeper) final(ctx context.Context, shutdown string) error {
	k.mu.Lock()
	wanted := k.mu.schedule.Final(time.Now(), shutdown)
	k.mu.Unlock()
	if !wanted {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recovery.FinalDeadline)
	defer cancel()
	if _, err := k.write(ctx, shutdown, textWithinFinal); err != nil {
		return fmt.Errorf("write the last checkpoint: %w", err)
	}
	return nil
}

// part keeps the text of every terminal that is about to be ended: afterwards nobody has it.
func (k *keeper) part(ctx context.Context) {
	if p := k.policy(); p.Enabled && p.KeepsText() {
		k.parted = k.panes.texts(ctx, p, textWithinFinal)
	}
}

// write captures and publishes. The schedule has said that it may, and is told of the end.
func (k *keeper) write(ctx context.Context, shutdown string, within time.Duration) (recovery.Published, error) {
	defer func() {
		k.mu.Lock()
		k.mu.schedule.Done(time.Now())
		k.mu.Unlock()
		k.nudge()
	}()
	p := k.policy()
	done, err := k.store.Publish(ctx, recovery.Capture(k.panes.view(ctx, p, within, k.parted), shutdown, p))
	if err != nil {
		return done, err
	}
	if done.Prune != nil {
		k.log.Warn("older checkpoints could not be removed", "code", recovery.CodeOf(done.Prune))
	}
	k.log.Info("a checkpoint is written", "checkpoint", done.ID, "generation", done.Generation, "text_left_out", done.OmittedFor)
	return done, nil
}
