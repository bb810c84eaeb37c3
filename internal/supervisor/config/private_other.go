// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package config

import (
	"errors"
	"fmt"
)

// ErrUnsafe means that a folder is not one that we may trust.
var ErrUnsafe = errors.New("unsafe folder")

// CreatePrivate needs owner-only access control lists here, which spawnd does not set yet.
func CreatePrivate(path string) error {
	return fmt.Errorf("create private folder %s: %w", path, errors.ErrUnsupported)
}
