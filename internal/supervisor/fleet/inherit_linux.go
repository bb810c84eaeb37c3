// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"sync"

	"golang.org/x/sys/unix"
)

// keepToOurselves marks every descriptor above the standard ones as not for children. Go opens its own
// so, but not those that this process was started with: a pipe among them would stay open in each worker
// for as long as its terminal lives. It is done once, before the first fork. Kernels before 5.11 do not
// know the call; what they then inherit the worker does not pass on.
var keepToOurselves = sync.OnceFunc(func() {
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
})
