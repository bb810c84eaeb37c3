// SPDX-License-Identifier: Apache-2.0

package pty

import (
	"errors"
	"syscall"
)

// Terminal is not available here yet: every call fails with errors.ErrUnsupported.
type Terminal struct{}

// Start fails: there is no ConPTY support yet.
func Start(Options) (*Terminal, error) { return nil, errors.ErrUnsupported }

func (*Terminal) Pid() int                             { return 0 }
func (*Terminal) Read([]byte) (int, error)             { return 0, errors.ErrUnsupported }
func (*Terminal) Write([]byte) (int, error)            { return 0, errors.ErrUnsupported }
func (*Terminal) TryWrite([]byte) int                  { return 0 }
func (*Terminal) Resize(cols, rows uint16) error       { return errors.ErrUnsupported }
func (*Terminal) ForegroundGroup() (int, error)        { return 0, errors.ErrUnsupported }
func (*Terminal) SignalGroup(sig syscall.Signal) error { return errors.ErrUnsupported }
func (*Terminal) Wait() (Status, error)                { return Status{}, errors.ErrUnsupported }
func (*Terminal) ReapOrphans(<-chan struct{})          {}
func (*Terminal) Close() error                         { return errors.ErrUnsupported }
