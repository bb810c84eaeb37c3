// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"fmt"
	"net"
	"os"
)

// CheckPeer returns ErrPeer unless the process at the other end of conn ran as our effective user
// when it connected or began to listen. Call it before reading the first byte.
func CheckPeer(conn *net.UnixConn) error {
	uid, err := PeerUID(conn)
	if err != nil {
		return err
	}
	if own := os.Geteuid(); int64(uid) != int64(own) {
		return fmt.Errorf("check peer: %w: uid %d, ours is %d", ErrPeer, uid, own)
	}
	return nil
}
