// SPDX-License-Identifier: Apache-2.0

//go:build !failpoints || !unix

package points

import "spawn/internal/sessiond/vfs"

// Files are the real ones.
func Files() vfs.FS { return vfs.OS{} }
