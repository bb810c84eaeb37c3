// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"io/fs"
)

// List examines every checkpoint, after removing what has expired or is too many. By generation, then those without
// one by id. It changes nothing else, whatever it finds.
func (s *Store) List() ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := s.scan(s.now(), s.mu.policy)
	if err != nil {
		return nil, err
	}
	if entries, err = s.prune(entries, s.mu.policy); err != nil { // it is in the stats; some may be gone
		if entries, err = s.scan(s.now(), s.mu.policy); err != nil {
			return nil, err
		}
	}
	lead := Leading(entries)
	for i := range entries {
		entries[i].Leading = entries[i].ID == lead && lead != ""
	}
	return entries, nil
}

// Read returns one valid checkpoint, without the text that has expired. ErrID, ErrNotFound, ErrCorrupt, ErrFormat,
// ErrSize, ErrExpired (also for one of the future) or ErrIO; a newer one that is damaged never makes it
// return an older one.
func (s *Store) Read(id string) (Checkpoint, error) {
	if _, err := ParseID(id); err != nil {
		return Checkpoint{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	entries, err := s.scan(now, s.mu.policy)
	if err != nil {
		return Checkpoint{}, err
	}
	_, c, err := s.examine(id, s.mu.policy, true)
	if err == nil {
		err = refuse(id, entries)
	}
	_, _ = s.prune(entries, s.mu.policy) // recorded in the stats; an expired one is refused in any case
	var found *Failure
	switch {
	case err == nil:
		return Expire(c, now, s.mu.policy), nil
	case errors.As(err, &found):
		return Checkpoint{}, found
	case errors.Is(err, fs.ErrNotExist):
		return Checkpoint{}, &Failure{Code: CodeNotFound, reason: "read checkpoint: there is none of this id"}
	}
	return Checkpoint{}, ioFailure("read checkpoint: its file is unsafe or cannot be read", err)
}

// refuse says why a checkpoint that decodes may not be used.
func refuse(id string, entries []Entry) error {
	for _, e := range entries {
		if e.ID != id {
			continue
		}
		switch e.Status {
		case StatusValid:
			return nil
		case StatusExpired, StatusFuture:
			return &Failure{Code: CodeExpired, reason: "read checkpoint: it has expired, or is dated in the future"}
		default:
			return corrupt("another has its generation, or it changed just now")
		}
	}
	return fs.ErrNotExist
}
