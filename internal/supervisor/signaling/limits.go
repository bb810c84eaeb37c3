// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"time"

	"spawn/internal/supervisor/access"
)

const (
	connectionsMax      = 256 // accepted and not yet closed, of any kind; beyond it they are closed at once
	socketsMax          = 64  // open signalling sockets
	socketsPerSourceMax = 48  // of them from one address
	handshakesMax       = 16  // of them that have not made a good offer yet

	messageMax    = 64 << 10 // of signalling, either way
	candidatesMax = 64       // held until the answer
	handshakeTime = access.ChallengeLife
	writeTime     = 5 * time.Second
	answerTime    = 8 * time.Second // to make one; below handshakeTime

	headerTime     = 5 * time.Second
	requestTime    = 10 * time.Second
	responseTime   = 30 * time.Second
	idleTime       = 60 * time.Second
	headerBytesMax = 16 << 10
)
