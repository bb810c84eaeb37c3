// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package foreground

import "errors"

// Leader is the leader of a process group, whose end somebody waits for.
type Leader struct{}

// Watch fails: this system has no way to wait for somebody else's child yet.
func Watch(pgid int) (*Leader, error) { return nil, errors.ErrUnsupported }

// Gone is never ready.
func (*Leader) Gone() <-chan struct{} { return nil }

// Close does nothing.
func (*Leader) Close() {}
