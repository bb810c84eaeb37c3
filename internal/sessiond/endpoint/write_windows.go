// SPDX-License-Identifier: Apache-2.0

package endpoint

import "net"

// TryWrite writes nothing: everything goes through the queue.
func TryWrite(*net.UnixConn, []byte) int { return 0 }
