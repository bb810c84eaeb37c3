// SPDX-License-Identifier: Apache-2.0

package fanout

import "time"

// pace measures how fast a viewer takes what waits for it, and says how much may wait. Only the time counts
// in which more than a piece waited: at other times the pace is the program's. A viewer thus keeps what it
// has shown it can while its pane is quiet.
type pace struct {
	last  int           // bytes taken in the last whole window, at most queueBytesMax
	open  int           // bytes taken in the window that is open, likewise
	spent time.Duration // of the window that is open
}

// took notes n bytes that took d. A call that outlasted the window tells the pace of its whole time.
func (p *pace) took(n int, d time.Duration) {
	p.open, p.spent = min(p.open+n, queueBytesMax), p.spent+max(d, 0)
	if p.spent >= paceWindow {
		p.last = int(int64(p.open) * int64(paceWindow) / int64(p.spent))
		p.open, p.spent = 0, 0
	}
}

// bound is how many bytes may wait when a call has been under way for d: about what the viewer takes in a
// window. For one that takes nothing it falls towards the floor.
func (p pace) bound(d time.Duration) int {
	p.took(0, d) // p is a copy
	return min(max(p.last, p.open, queueBytesMin), queueBytesMax)
}
