// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond"
)

// takeDescriptor takes the locked file over. It is marked close-on-exec first of all: a shell that held it would keep the
// session reserved after the worker's death.
func takeDescriptor(cfg *sessiond.Config) error {
	if _, err := unix.FcntlInt(lockDescriptor, unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return fmt.Errorf("take reservation from descriptor %d: %w", lockDescriptor, err)
	}
	cfg.Lock = os.NewFile(lockDescriptor, "reservation")
	return nil
}

// fallSilent puts /dev/null in the place of standard error. For spawnd that is the end of the pipe: the worker is ready.
func fallSilent() error {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	defer unix.Close(null)
	if err := replace(null, 2); err != nil {
		return fmt.Errorf("leave standard error: %w", err)
	}
	return nil
}
