// SPDX-License-Identifier: Apache-2.0

//go:build unix

package doctor

import (
	"io/fs"
	"syscall"
)

// notControlling keeps an opened terminal from becoming ours.
const notControlling = syscall.O_NOCTTY

func ownerOf(st fs.FileInfo) (uid, gid int) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(sys.Uid), int(sys.Gid)
}
