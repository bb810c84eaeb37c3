// SPDX-License-Identifier: Apache-2.0

// Package endpoint reserves, listens on, probes and dials the places in the worker folder at which
// a worker can be reached.
//
//	workers/                       0700, held as a directory descriptor
//	  <session-id>.lock            0600, flock for the worker's whole life
//	  <session-id>.sock            0600, frames between spawnd and the worker
//	  <session-id>.lifecycle.sock  0600, TERM and KILL datagrams
//	  <session-id>.reply/          0700, short-lived sockets of those who sent such a datagram
//	  <session-id>.scrollback/     0700, the encrypted log (package scrollback)
//
// The lock decides, never a probe: a stopped worker refuses no connection and answers none, and a
// starting one refuses connections although it lives. So names are created, replaced and removed only
// by who holds the lock, and removed only when device and inode are those it recorded.
//
// Every name is resolved against the descriptor of the folder, never against its path, so that
// exchanging the folder under a running process changes nothing. What stands where ours should be is
// used only if it is of the right type, owned by us, and has one link; else the error is ErrUnsafe
// and the object is left as it is.
//
// All code of the same uid can do what we can. The folder keeps other users out; it does not protect
// sessions from a program that runs as their owner.
package endpoint

import (
	"errors"
	"time"
)

var (
	// ErrReserved says that somebody holds the session's lock. Whoever it is may be stopped or busy;
	// nothing of that session may be touched.
	ErrReserved = errors.New("session is reserved")
	// ErrUnsafe says that an object in or above the worker folder has another owner, type, link count
	// or mode than we may trust. Nothing was changed.
	ErrUnsafe = errors.New("object is unsafe to use")
	// ErrPathTooLong says that socket paths in this folder would not fit a socket address. Nothing
	// was created.
	ErrPathTooLong = errors.New("path too long for a socket")
	// ErrNotHeld says that a lock that had to be held is not.
	ErrNotHeld = errors.New("reservation is not held")
	// ErrNotListening says that nobody listens on a socket. It is no proof that nobody lives: ask
	// Folder.Locked.
	ErrNotListening = errors.New("nobody listens")
	// ErrPeer says that the process at the other end runs as another user.
	ErrPeer = errors.New("peer is another user")
	// ErrAck says that a lifecycle request was answered by something that is no acknowledgement.
	ErrAck = errors.New("malformed lifecycle acknowledgement")
)

const (
	// SignalDeadline bounds one Folder.Signal with all its retries.
	SignalDeadline = 2 * time.Second
	// DialDeadline bounds one Folder.Dial whose context has no earlier deadline.
	DialDeadline = 5 * time.Second

	// FolderMode and FileMode are what our folders and files are forced to: their owner's alone.
	FolderMode = 0o700
	FileMode   = 0o600

	// scanEntriesMax bounds the names that Scan reads: five for each of 10,000 sessions.
	scanEntriesMax = 50_000
	// sweepEntriesMax bounds the files that are removed from one session's folder. The log has at
	// most 128.
	sweepEntriesMax = 1_024
	// reserveTriesMax bounds how often Reserve starts over because the lock file was retired, or
	// probed, while it looked.
	reserveTriesMax = 256
)

// Names of a session's objects are its stem and one of these.
const (
	lockSuffix       = ".lock"
	streamSuffix     = ".sock"
	lifecycleSuffix  = ".lifecycle.sock"
	replySuffix      = ".reply"
	scrollbackSuffix = ".scrollback"

	replyNameLen = 8 // hexadecimal digits
	sessionIDLen = 36
)

// ScrollbackName is the name of a session's log folder in the worker folder.
func ScrollbackName(id SessionID) string { return string(id) + scrollbackSuffix }

// FolderPathMax is the longest path in bytes that OpenFolder accepts: with the longest name of a
// session's socket it still fits a socket address.
const FolderPathMax = sunPathMax - 1 - (sessionIDLen + len(lifecycleSuffix))

// The reply socket's name must not be the longer one.
const _ = uint(len(lifecycleSuffix) - (len(replySuffix) + 1 + replyNameLen))

// Identity is what stays the same of a file while its names change.
type Identity struct{ Dev, Ino uint64 }
