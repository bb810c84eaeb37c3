// SPDX-License-Identifier: Apache-2.0

// Package vfs is the few file calls that storage makes, each under an operation label.
//
// The calls are relative to a directory that is opened once and held, so that a folder swapped
// under a running worker cannot redirect a later create, read or unlink. [OS] is the real thing.
// [Faulty] wraps any FS and makes the n-th call fail, which is how storage proves that it either
// did what it said or says that it did not. [Crash] is a file system in memory that tells what a
// power loss could leave of it.
package vfs

import (
	"errors"
	"io/fs"
)

// Op labels one call site, "segment.create" for instance. It names the step in errors and lets a
// test aim a fault at that step. Labels are constants of the caller, never made from input.
type Op string

// FS is where a path is resolved, once; everything else is below what was opened. Implementations are
// not safe for concurrent use unless they say so; [OS] is.
type FS interface {
	// OpenAnchor opens the directory path, which may lead over links, and makes it and its parents
	// with mode 0700 where they are absent. It judges and changes nothing that is there: it is the
	// place below which private directories begin.
	OpenAnchor(op Op, path string) (Dir, error)
}

// Dir is one open directory. Names are single path elements.
type Dir interface {
	// Create makes name with mode 0600 and opens it for appending. It never opens an existing
	// object, of whatever kind: that is fs.ErrExist.
	Create(op Op, name string) (File, error)
	// Open opens name for reading. It refuses with ErrUnsafe what is not a regular file of our own
	// user with exactly one link, and never waits (a planted FIFO is refused, not read).
	Open(op Op, name string) (File, error)
	// MakeDir makes the directory name with mode 0700; fs.ErrExist when anything has that name.
	MakeDir(op Op, name string) error
	// OpenDir opens the directory name, changing nothing. It refuses with ErrUnsafe what is no
	// directory, a link to one included; owner and mode are for the caller to judge by Facts.
	OpenDir(op Op, name string) (Dir, error)
	// OpenPrivate makes the directory name if it is absent and opens it. It refuses with ErrUnsafe what
	// is no directory of our own user, a link to one included, and forces the mode to 0700.
	OpenPrivate(op Op, name string) (Dir, error)
	// Look describes name itself, without opening it and without following a link.
	Look(op Op, name string) (Facts, error)
	// Facts describes the open directory.
	Facts(op Op) (Facts, error)
	// Rename gives the object from the unused name to. A name in use is fs.ErrExist; that is looked
	// at first, not atomically, so whoever shares the directory uses names that nobody else does.
	Rename(op Op, from, to string) error
	// Sync makes what was created, renamed and removed in the directory durable, and nothing else.
	Sync(op Op) error
	// Remove unlinks name. Absence is an error (fs.ErrNotExist).
	Remove(op Op, name string) error
	// RemoveDir removes the empty directory name, and nothing of another kind. Absence is an error
	// (fs.ErrNotExist).
	RemoveDir(op Op, name string) error
	// Names lists the directory, unsorted, and refuses one of more than [MaxNames] entries.
	Names(op Op) ([]string, error)
	// Allocated is the number of bytes the file system has allocated for the directory itself.
	Allocated(op Op) (int64, error)
	// Close releases the directory, also when it returns an error; open files stay usable.
	Close(op Op) error
}

// File is one open file: written through what Create returned, read through what Open returned.
type File interface {
	// Write appends p. As with io.Writer, n < len(p) comes with an error; callers check both,
	// because a faulty device is exactly what this package imitates.
	Write(op Op, p []byte) (n int, err error)
	// Read reads from the current position, as io.Reader has it.
	Read(op Op, p []byte) (n int, err error)
	// Facts describes the open file.
	Facts(op Op) (Facts, error)
	// Sync makes the content durable, but not the name. After an error the content is lost for good: a
	// second call may succeed without having written anything.
	Sync(op Op) error
	// Allocated is the number of bytes of storage behind the file, which may be more or less
	// than its length. It does not allocate memory.
	Allocated(op Op) (int64, error)
	// Close releases the descriptor, also when it returns an error.
	Close(op Op) error
}

// ErrUnsafe means that an object is not what it should be: another owner's, a link, or of another kind.
// Nothing about it was changed.
var ErrUnsafe = errors.New("unsafe file")

// Kind is what an object is.
type Kind uint8

const (
	KindRegular Kind = 1
	KindDir     Kind = 2
	KindOther   Kind = 3 // a link, FIFO, socket or device
)

// Facts are what the system says of one object. Where it has no owners and modes, the object is ours
// and its mode is what the system makes up.
type Facts struct {
	Kind     Kind
	UID      int
	Perm     fs.FileMode // permission bits alone
	Links    uint64      // names of the object; of a directory, whatever the file system counts
	Size     int64       // bytes
	Modified int64       // nanoseconds since 1970
	Device   uint64      // together with Inode names the object while it exists
	Inode    uint64
}

// SameObject tells whether both describe one object.
func (f Facts) SameObject(other Facts) bool {
	return f.Device == other.Device && f.Inode == other.Inode
}

// MaxNames bounds what Names returns. A private directory never holds a fraction of it; one
// that does was filled by somebody else.
const MaxNames = 4096

// Modes of everything made here, with no moment at which they are wider.
const (
	DirMode  = 0o700
	FileMode = 0o600
)
