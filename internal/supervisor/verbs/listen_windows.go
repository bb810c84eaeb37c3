// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"
	"fmt"
	"net"
)

// Listener is a control socket.
type Listener struct{ *net.UnixListener }

// Listen is not there yet: the control socket on Windows is to be a named pipe.
func Listen(path string) (*Listener, error) {
	return nil, fmt.Errorf("listen on %s: %w", path, errors.ErrUnsupported)
}
