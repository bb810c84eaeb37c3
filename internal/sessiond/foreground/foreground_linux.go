// SPDX-License-Identifier: Apache-2.0

package foreground

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// commMax is more than the kernel keeps of a name (15 bytes and a newline).
const commMax = 64

// Name is the short name of the leader of process group pgid: no arguments and no path. It fails when the leader is gone, as
// it is in a pipeline whose first command has ended.
//
// It is called every second for every terminal, hence bare system calls and one small buffer.
func Name(pgid int) (string, error) {
	path := "/proc/" + strconv.Itoa(pgid) + "/comm"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var buf [commMax]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return clean(string(buf[:n])), nil
}
