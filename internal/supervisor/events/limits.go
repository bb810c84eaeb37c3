// SPDX-License-Identifier: Apache-2.0

package events

import "time"

const (
	// What a reader that was away can still be told. A busy host commits a few hundred events a minute, so
	// this is some minutes: enough for a connection that broke, while who was away longer is better
	// served by a snapshot than by thousands of events.
	logEventsMax = 8192
	// A log of the largest events stays below this, whatever they hold.
	logBytesMax = 4 << 20

	// commitEventsMax fits a restore of 4096 panes: for each a session, a window, the pane and its exit.
	// More than that is a mistake. A commit that is larger than the log is delivered as a snapshot.
	commitEventsMax = 4*4096 + 1

	fieldBytesMax = 4096    // of one text: a path is the longest (PATH_MAX)
	rawBytesMax   = 1 << 20 // of one Raw: a window with all of 4096 panes has 8191 nodes of up to 70 bytes
	listMax       = 64      // texts of one list
	aboveMax      = 8       // what holds a resource: window, session, server, and room
	filterMax     = 64      // patterns, or resources, of one filter

	// eventCost is what an event takes beside its texts, in bytes, rounded up.
	eventCost = 256

	// paceEvery is the least time between two events of one slot, once its burst is used up.
	paceEvery = time.Second
)
