// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"time"

	"spawn/internal/supervisor/descriptors"
)

const (
	// LineBytesMax bounds a request with its newline. A longer one ends the connection.
	LineBytesMax = 64 << 10
	// AnswerBytesMax bounds an answer; the longest is the list of all panes.
	AnswerBytesMax = 8 << 20
	// SocketPathMax is the longest path, in bytes, that bind and connect take on Linux.
	SocketPathMax = 107

	// connectionsMax bounds open connections. Beyond it the one that has been silent longest is closed. Who waits for a slow verb
	// asks beside, on a second one, whether spawnd lives; so some hundred at once are twice as many.
	connectionsMax = 1024
	// askersKept is how many of the last descriptors are left even by those who only ask: half of those that viewers leave. The
	// other half is for what a request needs, a worker's socket or a file.
	askersKept = descriptors.Kept / 2
	// idleTimeout is how long a connection may be silent between requests.
	idleTimeout = 10 * time.Minute
	// lineTimeout is how long a request may take from its first byte to its newline.
	lineTimeout = 10 * time.Second
	// answerTimeout is how long a peer may take to read an answer.
	answerTimeout = 10 * time.Second
	// runTimeout is how long a verb may run. The slowest waits two seconds after TERM.
	runTimeout = 30 * time.Second
	// acceptRetry is how long to wait before the next connection when there are no descriptors left.
	acceptRetry = 50 * time.Millisecond
)
