// SPDX-License-Identifier: Apache-2.0

package page

import (
	"time"

	"spawn/internal/supervisor/verbs"
)

const (
	messageMax = 16 << 10 // of anything that is sent to a page

	// pieceBytes is how much of a snapshot or of history goes into one event: in base64 four thirds of
	// it, which leaves room for the event's other members below messageMax.
	pieceBytes = 11 << 10

	urgentMax   = 64 // answers and pane events that wait for the page
	bulkMax     = 8  // events of attached panes that wait for the page
	requestsMax = 32 // the page's own requests that wait for their turn; further ones are refused
	verbsMax    = 16 // verbs under way at once; further ones are refused

	// requestTime bounds one request, so that one stuck worker does not hold up a page's other panes.
	requestTime = 10 * time.Second
	// verbTime bounds one verb beside its own limit. Those that may wait longer are for scripts.
	verbTime = time.Minute
	// channelTime is how long an attach waits for the pane's channel, whose opening may be overtaken by
	// the request.
	channelTime = 2 * time.Second
	// reuseTime is how long an attach over a channel that has served before waits for a newer one.
	reuseTime = 250 * time.Millisecond

	// answerBytesMax bounds an answer, which goes in pieces when it is longer than messageMax.
	answerBytesMax = verbs.AnswerBytesMax

	idMax          = 1<<53 - 1 // of requests: what JavaScript counts exactly
	nameRunesMax   = 64
	titleRunesMax  = 256
	paneIDBytesMax = 10
)
