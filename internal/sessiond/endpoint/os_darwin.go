// SPDX-License-Identifier: Apache-2.0

package endpoint

import "golang.org/x/sys/unix"

// sunPathMax is the longest socket path in bytes: sun_path has 104 and ends with a NUL.
const sunPathMax = 103

// parentFlags opens a folder for reading; there is no O_PATH.
const parentFlags = unix.O_RDONLY
