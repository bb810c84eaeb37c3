// SPDX-License-Identifier: Apache-2.0

package endpoint

import "fmt"

// A lifecycle request is one datagram, its answer another:
//
//	request  +---------------------+--------------+      answer  +-----------+
//	         | instance id  16 B   | signal  1 B  |              | ack  1 B  |
//	         +---------------------+--------------+              +-----------+
//
// Both enumerations are part of the protocol: never renumber, never reuse.
const (
	RequestLen    = len(InstanceID{}) + 1
	RequestBufLen = RequestLen + 1 // of the listener's one buffer; the last byte shows a datagram that is too long
	ackLen        = 1
)

// Signal is what a lifecycle request asks for.
type Signal uint8

const (
	SignalTERM Signal = 1 // ask the session's process group to end
	SignalKILL Signal = 2 // end it
)

// Ack is the answer to a lifecycle request.
type Ack uint8

const (
	AckDelivered Ack = 1 // the signal was sent to the process group
	AckGone      Ack = 2 // there is no such process any more, or not yet: nothing to signal
	AckStale     Ack = 3 // the request names another instance
	AckMalformed Ack = 4 // wrong length or unknown signal
)

func (s Signal) String() string {
	switch s {
	case SignalTERM:
		return "TERM"
	case SignalKILL:
		return "KILL"
	}
	return fmt.Sprintf("signal(%d)", uint8(s))
}

func (a Ack) String() string {
	switch a {
	case AckDelivered:
		return "delivered"
	case AckGone:
		return "gone"
	case AckStale:
		return "stale instance"
	case AckMalformed:
		return "malformed request"
	}
	return fmt.Sprintf("ack(%d)", uint8(a))
}

func appendRequest(dst []byte, instance InstanceID, s Signal) []byte {
	return append(append(dst, instance[:]...), byte(s))
}

// parseRequest reads a request for instance. refusal is 0 when the signal may be delivered.
func parseRequest(p []byte, instance InstanceID) (s Signal, refusal Ack) {
	if len(p) != RequestLen {
		return 0, AckMalformed
	}
	s = Signal(p[RequestLen-1])
	if s != SignalTERM && s != SignalKILL {
		return 0, AckMalformed
	}
	if InstanceID(p[:RequestLen-1]) != instance {
		return 0, AckStale
	}
	return s, 0
}

func parseAck(p []byte) (Ack, error) {
	if len(p) != ackLen {
		return 0, fmt.Errorf("%w: %d bytes", ErrAck, len(p))
	}
	if a := Ack(p[0]); a >= AckDelivered && a <= AckMalformed {
		return a, nil
	}
	return 0, fmt.Errorf("%w: byte 0x%02x", ErrAck, p[0])
}
