// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"spawn/internal/sessiond/failpoint"
)

const (
	fileMode = 0o600
	// keptMax bounds how many unreadable files are put aside beside each other.
	keptMax = 16
)

var (
	// ErrUnsafe means that the file is not one that we alone could have written: not a regular file, a
	// link, another owner's, or open to others. It has not been touched.
	ErrUnsafe = errors.New("unsafe file")
	// ErrUncertain means that the new file is in place but may not outlast a crash of the host. The caller
	// may save again; what Load reads is whole either way.
	ErrUncertain = errors.New("outcome uncertain")
)

// Store keeps one tree in one file of a folder that only we may write to. It is safe for concurrent use.
type Store struct {
	path string
	disk disk
	mu   sync.Mutex // one Load or Save at a time
}

// NewStore names the file; nothing is touched.
func NewStore(path string) *Store { return &Store{path: path, disk: realDisk{}} }

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
	src, err := readSafe(s.path)
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

// Save replaces the file by the tree: whole or not at all. Steps, in order, each of which may be the last
// before a crash: a new file under a name of its own, its bytes, their sync, the rename, the folder's sync.
func (s *Store) Save(t Tree) error {
	src, err := Encode(t)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	temp := s.beside(".new-" + rand.Text())
	if err := s.disk.write(temp, src); err != nil {
		return errors.Join(fmt.Errorf("save %s: %w", s.path, err), s.disk.remove(temp))
	}
	failpoint.Pass(failpoint.TreeWritten)
	if err := s.disk.rename(temp, s.path); err != nil {
		return errors.Join(fmt.Errorf("save %s: %w", s.path, err), s.disk.remove(temp))
	}
	failpoint.Pass(failpoint.TreeRenamed)
	if err := s.disk.syncDir(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("save %s: %w: %w", s.path, ErrUncertain, err)
	}
	failpoint.Pass(failpoint.TreeSaved)
	return nil
}

// beside is a dot-name of our own next to the file.
func (s *Store) beside(suffix string) string {
	return filepath.Join(filepath.Dir(s.path), "."+filepath.Base(s.path)+suffix)
}

func (s *Store) removeLeftovers() error {
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", filepath.Dir(s.path), err)
	}
	prefix := filepath.Base(s.beside(".new-"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := s.disk.remove(filepath.Join(filepath.Dir(s.path), e.Name())); err != nil {
				return fmt.Errorf("remove leftover: %w", err)
			}
		}
	}
	return nil
}

func (s *Store) putAside() (string, error) {
	for n := range keptMax {
		kept := s.beside(fmt.Sprintf(".unreadable-%d", n))
		if _, err := os.Lstat(kept); err == nil {
			continue
		}
		if err := s.disk.rename(s.path, kept); err != nil {
			return "", err
		}
		return kept, s.disk.syncDir(filepath.Dir(s.path))
	}
	return "", fmt.Errorf("%d of them are there already: look at them, then remove them", keptMax)
}

// readSafe opens without following a link and without waiting for a FIFO's writer, and trusts only what
// the open file itself is.
func readSafe(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openSafely, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("open %s (%w): %w", path, ErrUnsafe, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	if why := unsafeBecause(st); why != "" {
		return nil, fmt.Errorf("check %s (%s): %w", path, why, ErrUnsafe)
	}
	src, err := io.ReadAll(io.LimitReader(f, EncodedMax+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return src, nil
}
