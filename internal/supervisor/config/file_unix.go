// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"io/fs"
	"syscall"
)

func identity(st fs.FileInfo) (device, inode uint64) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(sys.Dev), sys.Ino
}
