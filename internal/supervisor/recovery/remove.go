// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"errors"
	"io/fs"

	"spawn/internal/sessiond/vfs"
)

// prune deletes what has expired, and what is too many, when p is enabled, and returns what is left. Corrupt,
// incompatible, unsafe and future-dated files are left: only Forget deletes them.
func (s *Store) prune(entries []Entry, p Policy) ([]Entry, error) {
	if !p.Enabled {
		return entries, nil
	}
	keep := kept(entries, p.MaxCheckpoints, s.mu.inherited)
	var doomed, left []Entry
	var unknown error
	for _, e := range entries {
		if e.unread {
			unknown = ioFailure("prune checkpoints: one cannot be read, so whether it is to go is not known", nil)
		}
		if e.Status == StatusExpired || e.Status == StatusValid && !keep[e.ID] {
			doomed = append(doomed, e)
		} else {
			left = append(left, e)
		}
	}
	err := cmp.Or(s.removeAll(doomed), unknown)
	if s.mu.stats.LastPruneError = CodeOf(err); err != nil {
		return entries, err
	}
	s.count(left)
	return left, nil
}

// purgeText deletes every file that holds terminal text or may hold some. It fails when it cannot know: a
// regular file that is unsafe or unreadable is not opened, and may hold anything.
func (s *Store) purgeText(p Policy) error {
	if err := s.sweep(); err != nil {
		return err // a temporary file can hold text too
	}
	if s.mu.stats.UnsafeTemps > 0 {
		return ioFailure("purge text: a temporary file is unsafe, and may hold text", vfs.ErrUnsafe)
	}
	entries, err := s.scan(s.now(), p)
	if err != nil {
		return err
	}
	var doomed []Entry
	var unknown error
	for _, e := range entries {
		switch {
		case e.Status != StatusUnsafe:
			if e.text {
				doomed = append(doomed, e)
			}
		case e.unread || s.regular(e.ID):
			unknown = ioFailure("purge text: a checkpoint file is unsafe or unreadable, and may hold text", vfs.ErrUnsafe)
		}
	}
	return cmp.Or(s.removeAll(doomed), unknown)
}

// regular tells whether a checkpoint's name is a regular file, or cannot be looked at.
func (s *Store) regular(id string) bool {
	facts, err := s.dir.Look("checkpoint.look", id+finalEnd)
	return err != nil || facts.Kind == vfs.KindRegular
}

// tidy looks at the folder and removes what p does not keep.
func (s *Store) tidy(p Policy) error {
	entries, err := s.scan(s.now(), p)
	if err == nil {
		_, err = s.prune(entries, p)
	}
	return err
}

// removeAll deletes examined files, each if it is still the file that was examined, and syncs the folder. It goes on
// behind a failure, and fails then.
func (s *Store) removeAll(doomed []Entry) error {
	if len(doomed) == 0 {
		return nil
	}
	var failed error
	for _, e := range doomed {
		failed = errors.Join(failed, s.remove("checkpoint.remove", e.ID+finalEnd, e.facts))
		delete(s.mu.examined, e.ID)
	}
	err := s.dir.Sync("store.syncremoved")
	switch {
	case err != nil, errors.Is(failed, ErrUnknown):
		return unknownOutcome("remove checkpoints: whether they are gone for good is not known", errors.Join(failed, err))
	case failed != nil:
		return ioFailure("remove checkpoints: not all could be removed", failed)
	}
	return nil
}

// remove unlinks a name that still means the object of facts. That it is gone already is fine. What failed may have been
// done all the same, so the name is looked at again: ErrUnknown when that fails, too.
func (s *Store) remove(op vfs.Op, name string, facts vfs.Facts) error {
	left, err := s.means(name, facts)
	switch {
	case err != nil:
		return err
	case !left:
		return nil
	}
	failed := s.dir.Remove(op, name)
	if failed == nil {
		return nil
	}
	left, err = s.means(name, facts)
	switch {
	case err != nil:
		return unknownOutcome("remove checkpoint: whether it is gone is not known", errors.Join(failed, err))
	case !left:
		return nil
	}
	return failed
}

// means tells whether a name is there, and fails when it is another object's by now.
func (s *Store) means(name string, facts vfs.Facts) (bool, error) {
	now, err := s.dir.Look("checkpoint.look", name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !now.SameObject(facts):
		return false, vfs.ErrUnsafe
	}
	return true, nil
}

// sweep removes the temporary files that a crash left. Nothing ever reads them. A file that others can reach is
// left and counted.
func (s *Store) sweep() error {
	names, err := s.dir.Names("store.list")
	if err != nil {
		return ioFailure("sweep recovery store: folder cannot be read", err)
	}
	s.mu.stats.UnsafeTemps = 0
	var failed error
	for _, name := range names {
		if !isTemp(name) {
			continue
		}
		facts, err := s.dir.Look("temp.look", name)
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case facts.Kind != vfs.KindRegular: // holds nothing of ours
		case !s.safe(facts):
			s.mu.stats.UnsafeTemps++
		default:
			failed = errors.Join(failed, s.remove("temp.remove", name, facts))
		}
	}
	// Also when there was nothing: a process that died may have left removals that nobody synced.
	if failed = errors.Join(failed, s.dir.Sync("store.syncremoved")); failed != nil {
		return ioFailure("sweep recovery store: a temporary file could not be removed for good", failed)
	}
	return nil
}

// Forget deletes one checkpoint, whatever its status, without opening it, so that one which cannot be read can be got rid of.
// Only an unsafe object is refused. ErrUnknown means that it may be there still, or come back after a power loss.
func (s *Store) Forget(id string) error {
	if _, err := ParseID(id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	facts, err := s.dir.Look("checkpoint.look", id+finalEnd)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Failure{Code: CodeNotFound, reason: "forget checkpoint: there is none of this id"}
	case err != nil:
		return ioFailure("forget checkpoint: its file cannot be looked at", err)
	case !s.safe(facts):
		return ioFailure("forget checkpoint: its file is unsafe", vfs.ErrUnsafe)
	}
	return s.removeAll([]Entry{{ID: id, facts: facts}})
}
