// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

func spaceAt(path string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	kind := int64(st.Type)
	return Space{Free: st.Bavail * uint64(st.Bsize), Memory: kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC}, nil
}

// Limit implements Limits.
func (Real) Limit(l Limit) (soft, hard uint64, err error) {
	which := map[Limit]int{OpenFiles: unix.RLIMIT_NOFILE, LockedMemory: unix.RLIMIT_MEMLOCK, Processes: unix.RLIMIT_NPROC}[l]
	var limit unix.Rlimit
	if err := unix.Getrlimit(which, &limit); err != nil {
		return 0, 0, os.NewSyscallError("getrlimit", err)
	}
	return limit.Cur, limit.Max, nil
}
