// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/ownfile"
)

// keptMax bounds how many unreadable files are put aside beside each other.
const keptMax = 16

var (
	// ErrUnsafe means that the file is not one that we alone could have written: not a regular file, a
	// link, another owner's, or open to others. It has not been touched.
	ErrUnsafe = ownfile.ErrUnsafe
	// ErrUncertain means that the new file is in place but may not outlast a crash of the host. The caller
	// may save again; what Load reads is whole either way.
	ErrUncertain = ownfile.ErrUncertain
)

// Store keeps one tree in one file of a folder that only we may write to. It is safe for concurrent use.
type Store struct {
	path string
	disk ownfile.Disk
	mu   sync.Mutex // one Load or Save at a time
}

// NewStore names the file; nothing is touched.
func NewStore(path string) *Store { return &Store{path: path, disk: storeDisk{}} }

// Loaded is what Load found.
type Loaded struct {
	Tree Tree
	// Kept is where an unreadable file was put aside, and Why it was; both are empty when all was well.
	Kept string
	Why  error
}

// Load reads the tree. No file is the empty tree. A file that is not a tree, or one of another version, is
// put aside under a dot-name, and the tree is empty: the caller reports Kept. Unsafe files and failures to
// read are errors. Load also removes what an interrupted Save left.
func (s *Store) Load() (Loaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.removeLeftovers(); err != nil {
		return Loaded{}, err
	}
	src, err := ownfile.Read(s.path, EncodedMax, ownfile.OwnerOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return Loaded{}, nil
	}
	if err != nil {
		return Loaded{}, err
	}
	tree, why := Decode(src)
	if why == nil {
		return Loaded{Tree: tree}, nil
	}
	kept, err := s.putAside()
	if err != nil {
		return Loaded{}, fmt.Errorf("put aside %s (%w): %w", s.path, why, err)
	}
	return Loaded{Kept: kept, Why: why}, nil
}

// Save replaces the file by the tree: whole or not at all.
func (s *Store) Save(t Tree) error {
	src, err := Encode(t)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ownfile.Replace(s.disk, s.path, src, passWritten); err != nil {
		return fmt.Errorf("save the tree: %w", err)
	}
	failpoint.Pass(failpoint.TreeSaved)
	return nil
}

func (s *Store) removeLeftovers() error {
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", filepath.Dir(s.path), err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ownfile.Prefix(s.path)) {
			if err := s.disk.Remove(filepath.Join(filepath.Dir(s.path), e.Name())); err != nil {
				return fmt.Errorf("remove leftover: %w", err)
			}
		}
	}
	return nil
}

func (s *Store) putAside() (string, error) {
	for n := range keptMax {
		kept := filepath.Join(filepath.Dir(s.path), fmt.Sprintf(".%s.unreadable-%d", filepath.Base(s.path), n))
		if _, err := os.Lstat(kept); err == nil {
			continue
		}
		if err := s.disk.Rename(s.path, kept); err != nil {
			return "", err
		}
		return kept, s.disk.SyncDir(filepath.Dir(s.path))
	}
	return "", fmt.Errorf("%d of them are there already: look at them, then remove them", keptMax)
}
