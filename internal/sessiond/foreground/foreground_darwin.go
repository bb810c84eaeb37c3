// SPDX-License-Identifier: Apache-2.0

package foreground

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Name is the short name of the leader of process group pgid, as the kernel keeps it (16 bytes).
func Name(pgid int) (string, error) {
	kp, err := unix.SysctlKinfoProc("kern.proc.pid", pgid)
	if err != nil {
		return "", fmt.Errorf("read process %d: %w", pgid, err)
	}
	return clean(unix.ByteSliceToString(kp.Proc.P_comm[:])), nil
}
