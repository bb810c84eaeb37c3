// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"os"
)

// takeLock has no Windows form yet, and without one a second spawnd could not be kept out.
func takeLock(path string) (*os.File, error) {
	return nil, fmt.Errorf("take lock %s: %w", path, errors.ErrUnsupported)
}
