// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package systemd

import "context"

// Manager cannot exist here.
type Manager struct{}

// Detect returns ErrUnreachable: there is no systemd on this system.
func Detect(context.Context) (*Manager, error) { return nil, ErrUnreachable }

// StartScope returns ErrUnreachable.
func (*Manager) StartScope(context.Context, string, string, int, Limits) error { return ErrUnreachable }
