// SPDX-License-Identifier: Apache-2.0

// Package recovery keeps checkpoints: a record on disk of the sessions, windows and panes that a daemon
// held, and of their text if a person asked for that, from which archives are made on request.
//
// The package is in four parts. The codec (codec.go, check.go) is pure: bytes to a [Checkpoint] and back, in
// three formats. The store (store.go, publish.go, remove.go) puts files into one private folder
// so that a crash leaves whole generations. The schedule (schedule.go) decides when to capture.
// Capture and restore (capture.go, restore.go) translate between the daemon's state and a checkpoint.
//
// Nothing here starts, signals or names a process. docs/recovery.md has the format and the promises.
package recovery
