// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package foreground

import "errors"

// Name fails: this system has no way to ask yet.
func Name(pgid int) (string, error) { return "", errors.ErrUnsupported }
