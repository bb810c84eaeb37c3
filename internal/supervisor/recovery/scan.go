// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"

	"spawn/internal/sessiond/vfs"
)

// Entry is what a listing says of one checkpoint file. What is not decoded is zero.
type Entry struct {
	ID         string
	Status     Status
	Generation int64 // 0 when unknown
	Bytes      int64
	CapturedAt Millis
	Shutdown   string
	Sessions   int
	Windows    int
	Panes      int
	Running    int  // panes whose process ran
	TextPanes  int  // panes whose text is in the file
	Leading    bool // the one to offer first: see Leading

	claims int64     // generation that the file shows, valid or not; 0 when it shows none
	text   bool      // the file holds terminal text, or may
	unread bool      // the system failed to read it, which says nothing about the file
	facts  vfs.Facts // zero when unsafe
}

// remembered is an examination, good as long as the file is the same.
type remembered struct {
	facts    vfs.Facts
	bytesMax int
	entry    Entry
}

// scan examines every checkpoint file, in the order of a listing: by generation, then what has none by id.
func (s *Store) scan(now Millis, p Policy) ([]Entry, error) {
	names, err := s.dir.Names("store.list")
	if err != nil {
		return nil, ioFailure("list checkpoints: folder cannot be read", err)
	}
	var entries []Entry
	present := map[string]remembered{}
	for _, name := range names {
		id, ok := finalID(name)
		if !ok {
			continue
		}
		entry, _, err := s.examine(id, p, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if entry.Status == StatusValid {
			entry.Status = age(entry.CapturedAt, now, p)
		}
		s.mu.used = max(s.mu.used, entry.claims)
		present[id] = s.mu.examined[id]
		entries = append(entries, entry)
	}
	s.mu.examined = present
	refuseTwins(entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(uint64(a.Generation-1), uint64(b.Generation-1)), cmp.Compare(a.ID, b.ID)) // 0 wraps to the end
	})
	s.take(entries)
	s.count(entries)
	return entries, nil
}

// refuseTwins makes those that share a generation corrupt: nobody knows which of them was meant.
func refuseTwins(entries []Entry) {
	holders := map[int64]int{}
	for _, e := range entries {
		holders[e.Generation]++
	}
	for i := range entries {
		if e := &entries[i]; e.Generation != 0 && holders[e.Generation] > 1 {
			e.Status = StatusCorrupt
		}
	}
}

// examine opens a file, checks it on its handle, and reads that same handle. The checkpoint is returned when whole is
// set; else a file that was examined before is not read again. Status is StatusValid whatever its age. The error says
// why another status is there; fs.ErrNotExist means that there is no such file.
func (s *Store) examine(id string, p Policy, whole bool) (Entry, Checkpoint, error) {
	bytesMax := min(p.MaxBytes, FileBytesMax)
	entry := Entry{ID: id, Status: StatusUnsafe}
	file, facts, err := s.open(id)
	if err != nil {
		entry.unread = !errors.Is(err, vfs.ErrUnsafe)
		return entry, Checkpoint{}, err
	}
	if known, ok := s.mu.examined[id]; ok && !whole && known.facts == facts && known.bytesMax == bytesMax {
		return known.entry, Checkpoint{}, file.Close("checkpoint.close")
	}
	entry.facts, entry.Bytes = facts, facts.Size
	raw, seen, err := read(file, facts.Size, bytesMax)
	if err = errors.Join(err, file.Close("checkpoint.close")); err != nil {
		entry.unread = true
		return entry, Checkpoint{}, err
	}
	c, err := s.decode(id, raw, bytesMax)
	if err != nil && raw != nil {
		seen = tracesOf(raw)
	}
	entry.judge(c, seen, err)
	s.mu.examined[id] = remembered{facts, bytesMax, entry}
	return entry, c, err
}

// open opens a checkpoint file and refuses, with ErrUnsafe, what is not a regular file of ours alone.
func (s *Store) open(id string) (vfs.File, vfs.Facts, error) {
	file, err := s.dir.Open("checkpoint.open", id+finalEnd)
	if err != nil {
		return nil, vfs.Facts{}, err
	}
	facts, err := file.Facts("checkpoint.facts")
	if err == nil && !s.safe(facts) {
		err = vfs.ErrUnsafe
	}
	if err != nil {
		return nil, vfs.Facts{}, errors.Join(err, file.Close("checkpoint.close"))
	}
	return file, facts, nil
}

func (s *Store) safe(facts vfs.Facts) bool {
	return facts.Kind == vfs.KindRegular && facts.UID == s.id.UID && facts.Links == 1 && facts.Perm&othersAny == 0
}

// read returns a file's bytes. Of one that is too long there are none, but what it shows.
func read(file vfs.File, size int64, bytesMax int) (raw []byte, seen traces, err error) {
	if size > int64(bytesMax) {
		seen, err = skim(file, size)
		return nil, seen, err
	}
	raw, err = readAll(file, size)
	return raw, traces{}, err
}

// readAll reads at most size bytes and one more, which shows a file that is longer than it was said to be.
func readAll(file vfs.File, size int64) ([]byte, error) {
	raw := make([]byte, 0, size+1)
	for len(raw) <= int(size) {
		n, err := file.Read("checkpoint.read", raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// decode reads a file's bytes and demands that they are of this name and this daemon.
func (s *Store) decode(id string, raw []byte, bytesMax int) (Checkpoint, error) {
	if raw == nil {
		return Checkpoint{}, oversize("file is too long")
	}
	c, _, err := Decode(raw, Reading{BytesMax: bytesMax, Newest: Format3})
	if err != nil {
		return Checkpoint{}, err
	}
	if c.ID != id || c.Socket != s.id.Socket || c.UID != int64(s.id.UID) {
		return Checkpoint{}, corrupt("it is of another name or another daemon")
	}
	return c, nil
}

// judge fills in what was found: c, or what is seen of a file that is refused.
func (e *Entry) judge(c Checkpoint, seen traces, err error) {
	e.claims, e.text = seen.generation, seen.text
	switch CodeOf(err) {
	case "":
		e.Status = StatusValid
		e.Generation, e.CapturedAt, e.Shutdown = c.Generation, c.CapturedAt, c.Shutdown
		e.Sessions, e.Windows, e.Panes = len(c.Sessions), len(c.Windows), len(c.Panes)
		for _, pane := range c.Panes {
			if pane.State == StateRunning {
				e.Running++
			}
			if pane.Text.Availability == TextPlain {
				e.TextPanes++
			}
		}
		e.claims, e.text = c.Generation, e.TextPanes > 0
	case CodeFormat, CodeSize:
		e.Status = StatusIncompatible
	default:
		e.Status = StatusCorrupt
	}
}
