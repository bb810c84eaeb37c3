// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package ownfile

import (
	"io/fs"
	"os"
)

const openSafely = 0

func isLink(error) bool { return false }

// syncFolder does nothing: a folder cannot be synced here, and the rename itself is journaled.
func syncFolder(*os.File) error { return nil }

// unsafeBecause knows the type alone: who may write a file lies in its access control list.
func unsafeBecause(st fs.FileInfo, _ Access) string {
	if !st.Mode().IsRegular() {
		return "not a regular file"
	}
	return ""
}
