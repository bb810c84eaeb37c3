// SPDX-License-Identifier: Apache-2.0

// Package vfs is the few file calls the worker's storage makes, each under an operation label.
//
// The calls are relative to a directory that is opened once and held, so that a folder swapped
// under a running worker cannot redirect a later create, read or unlink. [OS] is the real thing.
// [Faulty] wraps any FS and makes the n-th call fail, which is how storage proves that it either
// did what it said or says that it did not.
package vfs

// Op labels one call site, "segment.create" for instance. It names the step in errors and lets a
// test aim a fault at that step. Labels are constants of the caller, never made from input.
type Op string

// FS opens and removes private directories. Implementations are not safe for concurrent use
// unless they say so; [OS] is.
type FS interface {
	// OpenDir makes path if it is absent (not its parents) and opens it. It refuses, naming the
	// path, whatever is not a directory of our own user, a symbolic link included, and forces
	// the mode to 0700.
	OpenDir(op Op, path string) (Dir, error)
	// RemoveDir removes the empty directory path. Absence is an error (fs.ErrNotExist).
	RemoveDir(op Op, path string) error
}

// Dir is one open directory. Names are single path elements.
type Dir interface {
	// Create makes name with mode 0600 and opens it for appending. It never opens an existing
	// object, of whatever kind: that is fs.ErrExist.
	Create(op Op, name string) (File, error)
	// Open opens name for reading. It refuses what is not a regular file of our own user with
	// exactly one link, and never waits (a planted FIFO is refused, not read).
	Open(op Op, name string) (File, error)
	// Remove unlinks name. Absence is an error (fs.ErrNotExist).
	Remove(op Op, name string) error
	// Names lists the directory, unsorted, and refuses one of more than [MaxNames] entries.
	Names(op Op) ([]string, error)
	// Allocated is the number of bytes the file system has allocated for the directory itself.
	Allocated(op Op) (int64, error)
	// Close releases the directory; open files stay usable.
	Close() error
}

// File is one open file: written through what Create returned, read through what Open returned.
type File interface {
	// Write appends p. As with io.Writer, n < len(p) comes with an error; callers check both,
	// because a faulty device is exactly what this package imitates.
	Write(op Op, p []byte) (n int, err error)
	// Read reads from the current position, as io.Reader has it.
	Read(op Op, p []byte) (n int, err error)
	// Allocated is the number of bytes of storage behind the file, which may be more or less
	// than its length. It does not allocate memory.
	Allocated(op Op) (int64, error)
	// Close releases the descriptor, also when it returns an error.
	Close(op Op) error
}

// MaxNames bounds what Names returns. A private directory never holds a fraction of it; one
// that does was filled by somebody else.
const MaxNames = 4096

// Modes of everything made here, with no moment at which they are wider.
const (
	DirMode  = 0o700
	FileMode = 0o600
)
