// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"

	"spawn/internal/sessiond/vfs"
)

// Bits of a mode that let others in. What is at fault is refused, never corrected: whoever opened
// it to others may have changed it already.
const (
	othersAny   fs.FileMode = 0o077
	othersWrite fs.FileMode = 0o022
)

// Options say where a store is, and what it takes from outside.
type Options struct {
	Files    vfs.FS // nil: the real ones
	Base     string // folder of state, from Locate
	Identity Identity
	Now      func() Millis // nil: the wall clock
	Random   io.Reader     // for ids; nil: the system's
}

// Store is the folder of one daemon's checkpoints, held open. Only the daemon that holds the socket's lock may
// open it. Its methods may be called from several goroutines; each waits for the one before, so
// a caller that must not wait for a disk calls them elsewhere.
type Store struct {
	dir    vfs.Dir
	id     Identity
	now    func() Millis
	random io.Reader

	mu struct {
		sync.Mutex
		policy    Policy
		inherited string                // see Start; "" for none
		examined  map[string]remembered // by id, so that a file is decoded once
		used      int64                 // highest generation that a file was seen to have, or was to get; none of up to it is given out again
		taken     bool                  // a look at the folder has said what this daemon begins with
		inherits  bool                  // and what it finds then is an inheritance
		stats     Stats
	}
}

// Open opens the store, making its folders where they are absent and nothing else. Errors are ErrIO.
// Start has to follow before anything else.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	dir, err := o.Files.OpenAnchor("store.anchor", o.Base)
	if err != nil {
		return nil, ioFailure("open recovery store: folder of state cannot be opened", err)
	}
	for _, step := range []struct {
		name   string
		others fs.FileMode // bits that the folder must not have
	}{{"spawn", othersWrite}, {"recovery", othersAny}, {o.Identity.Key(), othersAny}} {
		inner, err := enter(dir, step.name, o.Identity.UID, step.others)
		if err = errors.Join(err, dir.Close("store.close")); err != nil {
			return nil, ioFailure("open recovery store: a folder is unsafe or cannot be opened", err)
		}
		dir = inner
	}
	s := &Store{dir: dir, id: o.Identity, now: o.Now, random: o.Random}
	s.mu.policy, s.mu.examined = DefaultPolicy(), map[string]remembered{}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Files == nil {
		o.Files = vfs.OS{}
	}
	if o.Now == nil {
		o.Now = func() Millis { return MillisOf(time.Now()) }
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o
}

// enter opens a folder of ours in a folder, made where absent. Its name is synced also when it was there:
// a process that died behind its making may not have come to that.
func enter(outer vfs.Dir, name string, uid int, others fs.FileMode) (vfs.Dir, error) {
	if err := outer.MakeDir("store.mkdir", name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := outer.Sync("store.syncparent"); err != nil {
		return nil, err
	}
	dir, err := outer.OpenDir("store.open", name)
	if err != nil {
		return nil, err
	}
	facts, err := dir.Facts("store.facts")
	if err == nil && (facts.Kind != vfs.KindDir || facts.UID != uid || facts.Perm&others != 0) {
		err = vfs.ErrUnsafe
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close("store.close"))
	}
	return dir, nil
}

// Start takes the policy, removes temporary files that a crash left, and cleans up as SetPolicy does. It fails only when
// the policy is for no text, and some may be left: nothing else about checkpoints is worth a daemon that does not start, so what
// could not be removed besides is in the stats. A daemon that goes on from the one before, because it adopted its
// workers, is continuing. One that is not takes what it finds as an inheritance: the checkpoint that
// a person would be led to is then not crowded out by new ones before it was restored, forgotten or has expired.
func (s *Store) Start(p Policy, continuing bool) error {
	if err := p.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.inherits = !continuing
	if p.Text == TextModeOff {
		if err := s.purgeText(p); err != nil {
			return err
		}
	} else if err := s.sweep(); err != nil {
		s.mu.stats.LastError = CodeOf(err) // left over, but in nobody's way
	}
	s.mu.policy = p
	s.mu.stats.LastPruneError = CodeOf(s.tidy(p))
	return nil
}

// take is what the first look at the folder that succeeds is for: which generations may be used, and what was inherited.
func (s *Store) take(entries []Entry) {
	if s.mu.taken {
		return
	}
	s.mu.taken = true
	s.mu.used += illegible(entries) * generationLeap
	if s.mu.inherits {
		s.mu.inherited = Leading(entries)
	}
}

// SetPolicy makes the store what p asks for, and then takes p. When it fails, some files may be gone, and
// the policy before stays. Without text, every checkpoint that holds some is deleted first; with a
// smaller count or age, what is too many or too old. A disabled policy deletes no checkpoint but those with text.
func (s *Store) SetPolicy(p Policy) error {
	if err := p.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Text == TextModeOff {
		if err := s.purgeText(p); err != nil {
			return err
		}
	}
	if err := s.tidy(p); err != nil {
		return err
	}
	s.mu.policy = p
	return nil
}

// Restored says that the checkpoint has been restored, so it is no longer held for that.
func (s *Store) Restored(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.inherited == id {
		s.mu.inherited = ""
	}
}

// Close lets go of the folder.
func (s *Store) Close() error { return s.dir.Close("store.close") }
