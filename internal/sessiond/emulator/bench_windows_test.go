// SPDX-License-Identifier: Apache-2.0

package emulator

import "time"

var started = time.Now()

// cpuTime returns the time since the start: there is nothing better here.
func cpuTime() time.Duration { return time.Since(started) }
