// SPDX-License-Identifier: Apache-2.0

package fleet

import "net"

// tryWrite writes nothing: everything goes through the queue.
func tryWrite(*net.UnixConn, []byte) int { return 0 }
