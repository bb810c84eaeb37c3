// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
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
	// stragglerMax is how much of the last checkpoint's time is left for taking back what could not be written in time.
	stragglerMax = 200 * time.Millisecond
	// tidyMax is the longest time between two looks at what has expired: a clock that was set, or that
	// stood still while the machine slept, is found out then.
	tidyMax = time.Minute
)

// keeper keeps checkpoints: it decides when one is due, has it written, and removes what may not be kept.
//
// Locks: the store's own, under which it waits for the disk and asks which checkpoint archives are shown from; panes.mu; mu.
// None of the last two is held when the store is called.
type keeper struct {
	panes *panes // nil until open
	log   *slog.Logger
	now   func() time.Time
	kick  chan struct{} // 1 slot: what is due next may be another
	// openStore opens the store, which lies in folder; nil until open.
	openStore func() (*recovery.Store, error)
	folder    string
	// givenUp says that the last checkpoint is still being written, and nobody waits for it any more.
	givenUp atomic.Bool
	// parted is the text of terminals from right before they were ended, by pane; nil before that.
	parted map[string]recovery.Rows

	mu struct {
		sync.Mutex
		store    *recovery.Store    // nil until open, and while it cannot be opened
		schedule *recovery.Schedule // nil until open
		policy   recovery.Policy
		tidied   time.Time
		restored bool // archives are, or were, shown: nobody knows whether their processes ended
	}
}

func newKeeper(log *slog.Logger) *keeper {
	return &keeper{log: log, now: time.Now, kick: make(chan struct{}, 1)}
}

// open opens the store below the folder of state and makes it what the policy asks for, before anybody is
// served. The caller holds the socket's lock and has adopted what lives. It fails when text may lie there that the policy
// does not allow; a store that cannot be had for another reason costs the checkpoints and nothing else.
func (k *keeper) open(folders config.Folders, uid int, p recovery.Policy, ps *panes) error {
	base, identity, err := recovery.Locate(filepath.Dir(folders.State), "", folders.ControlSocket(), uid)
	if err != nil {
		return err
	}
	k.panes, k.folder = ps, recovery.Folder(base, identity)
	k.openStore = func() (*recovery.Store, error) {
		return recovery.Open(recovery.Options{
			Files: points.Files(), Base: base, Identity: identity, Now: func() recovery.Millis { return recovery.MillisOf(k.now()) }, Shown: ps.shownFrom,
		})
	}
	adopted := ps.runningCount() > 0
	k.mu.Lock()
	k.mu.policy, k.mu.schedule = p, recovery.NewSchedule(p, k.now(), adopted)
	k.mu.Unlock()
	if err := k.start(p, adopted); err != nil {
		if k.mayBreak(p) {
			return fmt.Errorf("make the recovery store %s what recovery.terminal_text and its limits ask for: %w", k.folder, withCause(err))
		}
		k.log.Warn("the recovery store cannot be had: there are no checkpoints", "folder", k.folder, "code", recovery.CodeOf(err), "because", withCause(err))
	}
	k.remount()
	return nil
}

// withCause adds what the system said, which the text of a failure leaves out since whoever asks by a verb sees it. It is for the
// log and for whoever starts spawnd.
func withCause(err error) error {
	if f, ok := errors.AsType[*recovery.Failure](err); ok && f.Unwrap() != nil {
		return fmt.Errorf("%w: %w", err, f.Unwrap())
	}
	return err
}

// start opens the store and makes it what the policy asks for.
func (k *keeper) start(p recovery.Policy, adopted bool) error {
	store, err := k.openStore()
	if err != nil {
		return err
	}
	if err := store.Start(p, adopted); err != nil {
		return errors.Join(err, store.Close())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.store = store
	return nil
}

// mayBreak reports whether a store that cannot be had may hold text that the policy forbids.
func (k *keeper) mayBreak(p recovery.Policy) bool {
	_, err := os.Lstat(k.folder)
	nothing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	return p.Text == recovery.TextModeOff && !nothing
}

// store is the folder of checkpoints. ErrIO says that it could not be opened.
func (k *keeper) store() (*recovery.Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.store == nil {
		return nil, recovery.ErrIO
	}
	return k.mu.store, nil
}

// Close lets go of the store, unless it is being written to for ever: the end of the process does that.
func (k *keeper) Close() error {
	store, err := k.store()
	if err != nil || k.givenUp.Load() {
		return nil
	}
	return store.Close()
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
	if err := k.govern(p); err != nil {
		return nil, nil, fmt.Errorf("clean up checkpoints: %w", err)
	}
	return func() {
		now := k.now()
		k.mu.Lock()
		k.mu.policy = p
		k.mu.schedule.SetPolicy(p, now)
		k.mu.Unlock()
		k.panes.expireTexts(now, p)
		k.nudge()
	}, nil, nil
}

// govern makes the store what the policy asks for; one that could not be had before is tried again.
func (k *keeper) govern(p recovery.Policy) error {
	if store, err := k.store(); err == nil {
		return store.SetPolicy(p)
	}
	if err := k.start(p, true); err != nil && (p.Enabled || k.mayBreak(p)) {
		return err
	}
	return nil
}

// acted says that somebody changed something on purpose. From then on there is something to lose.
func (k *keeper) acted() {
	k.mu.Lock()
	if k.mu.schedule != nil {
		k.mu.schedule.Activate(k.now())
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
		k.mu.schedule.Ended(k.now(), running)
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
	p, now := k.mu.policy, k.now()
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
	p, now := k.mu.policy, k.now()
	due := k.mu.schedule.Due(now)
	tidy := p.Enabled && now.Sub(k.mu.tidied) >= p.Interval
	if due || tidy {
		k.mu.tidied = now
	}
	k.mu.Unlock()
	k.panes.expireTexts(now, p)
	switch {
	case due: // which tidies too
		if _, err := k.write(ctx, recovery.ShutdownOpen, textWithin); err != nil && ctx.Err() == nil {
			k.log.Warn("a checkpoint could not be written", "code", recovery.CodeOf(err), "error", err)
		}
	case tidy:
		if _, err := k.list(); err != nil {
			k.log.Warn("expired checkpoints could not be looked for", "error", err)
		}
	}
}

func (k *keeper) list() ([]recovery.Entry, error) {
	store, err := k.store()
	if err != nil {
		return nil, err
	}
	return store.List()
}

func (k *keeper) read(id string) (recovery.Checkpoint, error) {
	if _, err := recovery.ParseID(id); err != nil {
		return recovery.Checkpoint{}, err
	}
	store, err := k.store()
	if err != nil {
		return recovery.Checkpoint{}, err
	}
	return store.Read(id)
}

func (k *keeper) forget(id string) error {
	if _, err := recovery.ParseID(id); err != nil {
		return err
	}
	store, err := k.store()
	if err != nil {
		return err
	}
	return store.Forget(id)
}

// request writes a checkpoint now, on purpose.
func (k *keeper) request(ctx context.Context) (recovery.Published, error) {
	k.mu.Lock()
	err := k.mu.schedule.Request(k.now())
	k.mu.Unlock()
	if err != nil {
		return recovery.Published{}, err
	}
	return k.write(ctx, recovery.ShutdownOpen, textWithin)
}

// restore makes archives of a checkpoint. Only one that is valid is taken, and no other in its place. Whoever does not wait
// for it any more gets none of it: ctx is looked at until all of it is put in force at once.
func (k *keeper) restore(ctx context.Context, id, owner string) (topology.Mapping, error) {
	if !k.policy().Enabled {
		return topology.Mapping{}, fmt.Errorf("restore: %w", recovery.ErrDisabled)
	}
	c, err := k.read(id)
	if err != nil {
		return topology.Mapping{}, err
	}
	ids, err := k.panes.restore(ctx, c, owner)
	if err != nil {
		return topology.Mapping{}, err
	}
	k.unsure()
	if store, err := k.store(); err == nil {
		store.Restored(id)
	}
	k.nudge()
	return ids, nil
}

// final writes the last checkpoint, unless the last good one is to stand. Nothing else of the keeper runs any
// more. A disk that does not answer is left behind with the write: what the kernel is doing for it nobody can call off.
func (k *keeper) final(ctx context.Context, shutdown string) error {
	k.mu.Lock()
	wanted := k.mu.schedule.Final(k.now(), shutdown)
	k.mu.Unlock()
	if !wanted {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recovery.FinalDeadline-stragglerMax)
	defer cancel()
	late := time.NewTimer(recovery.FinalDeadline)
	defer late.Stop()
	written := make(chan error, 1)
	go func() {
		_, err := k.write(ctx, shutdown, textWithinFinal)
		written <- err
	}()
	var err error
	select {
	case err = <-written:
	case <-late.C:
		k.givenUp.Store(true)
		err = errors.New("the disk does not answer, and whether it is there is not known")
	}
	if err != nil {
		return fmt.Errorf("write the last checkpoint: %w", err)
	}
	return nil
}

// part keeps the text of every terminal that is about to be ended: afterwards nobody has it.
func (k *keeper) part(ctx context.Context) {
	if p := k.policy(); p.Enabled && p.KeepsText() {
		k.parted = k.panes.texts(ctx, k.now(), p, textWithinFinal)
	}
}

// write captures and publishes. The schedule has said that it may, and is told of the end.
func (k *keeper) write(ctx context.Context, shutdown string, within time.Duration) (recovery.Published, error) {
	defer func() {
		k.mu.Lock()
		k.mu.schedule.Done(k.now())
		k.mu.Unlock()
		k.nudge()
	}()
	store, err := k.store()
	if err != nil {
		return recovery.Published{}, err
	}
	p := k.policy()
	done, err := store.Publish(ctx, recovery.Capture(k.panes.view(ctx, k.now(), p, within, k.parted), shutdown, p))
	if err != nil {
		return done, err
	}
	if done.Prune != nil {
		k.log.Warn("older checkpoints could not be removed", "code", recovery.CodeOf(done.Prune))
	}
	k.log.Info("a checkpoint is written", "checkpoint", done.ID, "generation", done.Generation, "text_left_out", done.OmittedFor)
	return done, nil
}
