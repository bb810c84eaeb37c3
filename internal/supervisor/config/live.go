// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
)

// PollEvery is how often Watch should look at the file. A change counts when two looks in a row see the
// same: editors write in several steps, and some take the file away for a moment.
const PollEvery = time.Second

// ErrPrepare means that a part of spawnd could not get ready for new settings. The old ones are in force.
var ErrPrepare = errors.New("new settings cannot be put in force")

// Subscriber is a part of spawnd that settings reach while it runs.
type Subscriber interface {
	// Prepare does everything about the new settings that may fail, and changes nothing yet. Of the two
	// functions exactly one is called, once: activate, which cannot fail, or discard. Either may be nil.
	Prepare(ctx context.Context, next Config) (activate, discard func(), err error)
}

// Live is the configuration that a running spawnd uses. A reload is all or nothing. It is safe for
// concurrent use.
//
//	file ─ read ─ check ─ Prepare 1, 2, …, last ─┬─ all ready: activate 1, 2, …, last ─► effective
//	                                             └─ one failed: discard those before ──► as it was
type Live struct {
	file    *File
	atStart Config // what the file said, which flags may have overruled

	reloading sync.Mutex // one reload at a time; taken before mu
	mu        struct {
		sync.RWMutex
		effective   Config
		subscribers []Subscriber
		last        Subscriber
		outcome     Outcome
		seen        Stamp // of the file at the last reload, successful or not
	}
}

// OpenLive reads the file and lets flags overrule what it says; nil is no flags.
func OpenLive(file *File, flags func(*Config)) (*Live, error) {
	l := &Live{file: file}
	l.mu.seen = file.stamp() // before reading: a change while we read is seen as one
	read, err := file.Load()
	if err != nil {
		return nil, err
	}
	l.atStart, l.mu.effective = read, read
	if flags != nil {
		flags(&l.mu.effective)
	}
	l.mu.outcome = Outcome{OK: true}
	return l, nil
}

// Effective is what is in force. The caller may keep it.
func (l *Live) Effective() Config {
	l.mu.RLock()
	defer l.mu.RUnlock()
	c := l.mu.effective
	c.Shell.Command = slices.Clone(c.Shell.Command)
	return c
}

// Subscribe adds a part that is prepared after those that came before it.
func (l *Live) Subscribe(s Subscriber) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.subscribers = append(l.mu.subscribers, s)
}

// SubscribeLast adds the one part whose preparation has effects that discard cannot undo, such as the
// deletion of what new settings no longer allow. It is prepared when every other part is ready, so that
// nothing can fail after it. A second one is an error of the program.
func (l *Live) SubscribeLast(s Subscriber) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.last != nil {
		panic("config: internal error: two parts want to be prepared last")
	}
	l.mu.last = s
}

// Outcome is what became of a reload.
type Outcome struct {
	OK           bool     `json:"ok"`
	Changed      []string `json:"changed"`       // keys that are now in force with another value
	NeedsRestart []string `json:"needs_restart"` // keys whose new value waits for the next start
	Problems     Problems `json:"problems"`      // of the file; empty when it is fine
	Error        string   `json:"error"`         // why it failed when the file is fine; "" otherwise
}

// LastOutcome is that of the last reload; a fine one before the first.
func (l *Live) LastOutcome() Outcome {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.outcome
}

// Reload reads the file and puts it in force, or leaves everything as it was and says why. Keys that are
// read at start alone keep their values.
func (l *Live) Reload(ctx context.Context) (Outcome, error) {
	l.reloading.Lock()
	defer l.reloading.Unlock()
	stamp := l.file.stamp() // before reading: a change while we read is seen as another one
	out, err := l.reload(ctx)
	if err != nil && !errors.As(err, &out.Problems) {
		out.Error = err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.outcome, l.mu.seen = out, stamp
	return out, err
}

func (l *Live) reload(ctx context.Context) (Outcome, error) {
	wanted, err := l.file.Load()
	if err != nil {
		return Outcome{}, err
	}
	next, out := l.merge(wanted)
	if len(out.Changed) == 0 {
		return out, nil
	}
	activate, err := l.prepare(ctx, next)
	if err != nil {
		return Outcome{}, err
	}
	// Nothing can fail from here on.
	l.mu.Lock()
	l.mu.effective = next
	l.mu.Unlock()
	for _, do := range activate {
		do()
	}
	return out, nil
}

// merge keeps what is read at start alone, and tells which of it the file has changed since.
func (l *Live) merge(wanted Config) (Config, Outcome) {
	now, next, out := l.Effective(), wanted, Outcome{OK: true}
	for _, k := range keys {
		switch {
		case !k.Live:
			if !reflect.DeepEqual(k.Value(l.atStart), k.Value(wanted)) {
				out.NeedsRestart = append(out.NeedsRestart, k.Path)
			}
			k.assign(&next, k.Value(now))
		case !reflect.DeepEqual(k.Value(now), k.Value(wanted)):
			out.Changed = append(out.Changed, k.Path)
		}
	}
	return next, out
}

// prepare gets every part ready and returns what puts the settings in force, or discards and fails.
func (l *Live) prepare(ctx context.Context, next Config) ([]func(), error) {
	l.mu.RLock()
	parts := slices.Clone(l.mu.subscribers)
	if l.mu.last != nil {
		parts = append(parts, l.mu.last)
	}
	l.mu.RUnlock()
	var activate, discard []func()
	for _, s := range parts {
		do, undo, err := s.Prepare(ctx, next)
		if err != nil {
			for _, undo := range slices.Backward(discard) {
				undo()
			}
			return nil, fmt.Errorf("%w: %w", ErrPrepare, err)
		}
		activate, discard = appendFunc(activate, do), appendFunc(discard, undo)
	}
	return activate, nil
}

func appendFunc(to []func(), f func()) []func() {
	if f == nil {
		return to
	}
	return append(to, f)
}

// Watch reloads when the file has changed, at the latest two ticks later, until ctx ends. It looks at the
// name, so it follows editors that write a new file and rename it. told is called with each outcome.
func (l *Live) Watch(ctx context.Context, ticks <-chan time.Time, told func(Outcome, error)) {
	w := watcher{live: l, before: l.seen()}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		if w.settled() {
			told(l.Reload(ctx))
		}
	}
}

// watcher compares one look at the file with the look before.
type watcher struct {
	live   *Live
	before Stamp
}

// settled looks, and reports whether the file has changed since the last reload and not since the last look.
func (w *watcher) settled() bool {
	now := w.live.file.stamp()
	same := now == w.before
	w.before = now
	return same && now != w.live.seen()
}

func (l *Live) seen() Stamp {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.seen
}
