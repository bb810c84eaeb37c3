// SPDX-License-Identifier: Apache-2.0

package endpoint

import "golang.org/x/sys/unix"

// sunPathMax is the longest socket path in bytes: sun_path has 108 and ends with a NUL.
const sunPathMax = 107

// parentFlags opens a folder that we need not be allowed to list.
const parentFlags = unix.O_PATH
