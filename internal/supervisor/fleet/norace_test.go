// SPDX-License-Identifier: Apache-2.0

//go:build !race

package fleet

import "time"

// raceAllowance is what the race detector may cost a promise about time.
const raceAllowance = 0 * time.Second
