// SPDX-License-Identifier: Apache-2.0

package topology

import "errors"

// After an error of an operation nothing has changed: the tree that it returns is the one it was called on.
var (
	// ErrNotFound means that no session, window, pane or worker has that id.
	ErrNotFound = errors.New("not found")
	// ErrName means that a name is too long, empty where it must not be, or holds characters that do not show.
	ErrName = errors.New("bad name")
	// ErrFull means that the tree holds as many sessions, windows or panes as it may, or a pane as many tags.
	ErrFull = errors.New("there are too many")
	// ErrDuplicate means that a worker already backs a pane.
	ErrDuplicate = errors.New("worker already backs a pane")
	// ErrWorker means that a text is not a worker's UUID in its canonical form.
	ErrWorker = errors.New("not a worker's id")
	// ErrOverflow means that a number that only grows has come to CounterMax.
	ErrOverflow = errors.New("counter is exhausted")

	// ErrSplit means that a split was asked for that cannot be: no such axis, a share that is none, or no
	// split of that axis where one was to be resized.
	ErrSplit = errors.New("not a split")
	// ErrLayer means that the pane is in the other layer than the operation is for, or is an archive, which
	// keeps its layer.
	ErrLayer = errors.New("wrong layer")
	// ErrFloat means that the description of a float breaks a rule.
	ErrFloat = errors.New("bad float")
	// ErrTag means that a tag's key or value breaks a rule.
	ErrTag = errors.New("bad tag")
	// ErrOwner means that somebody but the daemon would set the tag OwnerKey.
	ErrOwner = errors.New("the owner of a pane is set by spawnd alone")

	// ErrArchive means that the operation needs an archive, and the pane is none.
	ErrArchive = errors.New("not an archive")
	// ErrIsArchive means that the operation needs a pane with a terminal, and the pane is an archive.
	ErrIsArchive = errors.New("an archive")
	// ErrRelaunching means that something is being started in the archive's place already, or was, and whether it runs
	// is not known.
	ErrRelaunching = errors.New("the archive is being relaunched")
	// ErrNotEmpty means that a whole tree can only be restored into an empty one.
	ErrNotEmpty = errors.New("the arrangement is not empty")

	// ErrCorrupt means that bytes are not a tree, or that a tree breaks a rule of this package.
	ErrCorrupt = errors.New("not a valid arrangement")
	// ErrVersion means that the bytes are of a version that this spawnd does not know.
	ErrVersion = errors.New("arrangement of an unknown version")
)
