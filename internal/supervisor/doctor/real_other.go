// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package doctor

import (
	"errors"
	"fmt"
)

func spaceAt(path string) (Space, error) {
	return Space{}, fmt.Errorf("look at the room of %s: %w", path, errors.ErrUnsupported)
}

// Limit implements Limits.
func (Real) Limit(Limit) (soft, hard uint64, err error) { return 0, 0, errors.ErrUnsupported }
