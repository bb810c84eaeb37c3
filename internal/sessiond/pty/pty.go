// SPDX-License-Identifier: Apache-2.0

// Package pty runs one program as the session leader of one pseudo-terminal and keeps hold of it until it is reaped.
package pty

import "errors"

// ErrGone means that the program has been reaped, or that its process group is empty. Nothing was signalled, and nothing
// ever will be: the number may already belong to a stranger.
var ErrGone = errors.New("process group is gone")

// ErrArgs means that a program cannot be started as described, whatever the state of the machine.
var ErrArgs = errors.New("invalid program description")

// Options describes the program and its terminal.
type Options struct {
	// Argv is handed over as it is, Argv[0] too. The file is Argv[0] without a leading '-' (the mark of a login shell):
	// a path, or a name that is looked up as $SHELL and then along $PATH, both taken from Env.
	Argv []string
	// Cwd is an absolute folder; "" is $HOME of Env, or "/" if that is no folder.
	Cwd string
	// Env is the whole environment. Nothing of our own environment is added to it.
	Env []string
	// Cols and Rows are the first size in cells, at least 1.
	Cols, Rows uint16
}

// Status is how the program ended. Signal is "" unless a signal ended it, and then Code has no meaning.
type Status struct {
	Code   int
	Signal string
}
