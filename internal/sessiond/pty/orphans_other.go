// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package pty

import (
	"errors"
	"fmt"
)

// AdoptOrphans is not to be had here: orphans go to process 1.
func AdoptOrphans() error { return fmt.Errorf("adopt orphans: %w", errors.ErrUnsupported) }

// AdoptsOrphans reports whether AdoptOrphans has had success.
func AdoptsOrphans() bool { return false }
