// SPDX-License-Identifier: Apache-2.0

// Package texts types into terminals and reads what they show, for the verbs that programs use in place of eyes
// and hands: send, capture, wait, run, search, export.
//
// It decides here, beside the terminal, so that nothing races: whoever waits follows the output first, looks at the
// screen then, and goes on following. It has no goroutine of its own and takes part in no control.
package texts

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs"
)

// Terminal is one that a worker is connected for.
type Terminal interface {
	Capture(ctx context.Context, req wire.CaptureReq) (wire.Capture, error)
	Type(ctx context.Context, p []byte) error // at once, at most wire.InputMax bytes
	Follow() (Follower, error)
	Exited() bool // no program runs any more
}

// Follower is a fanout.Follower.
type Follower interface {
	Ready() <-chan struct{}
	Take() fanout.Heard
	Close()
}

// ended is told to who waits for what cannot come any more.
func ended() error { return verbs.Errorf(verbs.CodeEnded, "the terminal has ended") }

// late is told when ctx ends first: its time is the caller's, or spawnd or the caller has gone.
func late(ctx context.Context, what string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return verbs.Errorf(verbs.CodeTimeout, "%s", what)
	}
	return ctx.Err()
}

// bare is a row without the blanks at its end.
func bare(row string) string { return strings.TrimRight(row, " ") }

// hasControl reports whether the text has a control character other than those allowed.
func hasControl(text, allowed string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(allowed, r) })
}
