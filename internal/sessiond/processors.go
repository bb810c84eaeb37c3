// SPDX-License-Identifier: Apache-2.0

package sessiond

import "time"

const (
	// processorsMax is how many of the runtime's processors work in a flood, so that a worker does not spread over a large machine:
	// there are as many workers as terminals, and only the PTY's reader and the loop ever have much to do at the same time. One
	// would cost a quarter less, for the two wake each other for each few KiB. But the kernel holds no more than 4 KiB ready, and
	// refills it while we read: with one thread it rests while the screen is drawn, and the program gets a quarter less through.
	processorsMax = 2
	// processorsCalm is how many do else. What a key needs of us comes one after the other; with a second processor idle the runtime
	// wakes a thread at each step, in case there is more to do, and the key waits for three such calls.
	processorsCalm = 1
	// burstBytes at once are a flood's: twice what the kernel hands out.
	burstBytes = 8 << 10
	// calmAfter is how long after a burst there is no flood any more. Floods come in pieces, and a switch stops the worker for some
	// microseconds.
	calmAfter = 250 * time.Millisecond
)

// processors has as many of the runtime's processors at work as the terminal's output is worth. It belongs to the loop.
type processors struct {
	set   func(n int) int // runtime.GOMAXPROCS; nil where the process is not the worker's alone
	now   int
	burst time.Time // the last one
}

// begin is for a worker that nobody has printed to.
func (p *processors) begin() { p.use(processorsCalm) }

// took looks at n bytes that the loop has just taken.
func (p *processors) took(n int, at time.Time) {
	if n >= burstBytes {
		p.burst = at
		p.use(processorsMax)
	} else if p.now != processorsCalm && at.Sub(p.burst) >= calmAfter {
		p.use(processorsCalm)
	}
}

func (p *processors) use(n int) {
	if p.now != n && p.set != nil {
		p.set(n)
	}
	p.now = n
}
