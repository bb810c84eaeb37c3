// SPDX-License-Identifier: Apache-2.0

package recovery

import "os"

func euid() int { return os.Geteuid() }
