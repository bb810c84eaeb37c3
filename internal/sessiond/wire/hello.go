// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"slices"

	"spawn/internal/strictjson"
)

// ErrVersion says that a HELLO is of another protocol version: the worker is whole, and not ours
// to drive.
var ErrVersion = errors.New("worker speaks another protocol version")

// Values of Hello.State.
const (
	StateWaiting = "waiting" // START has not come
	StateRunning = "running" // the child lives
	StateExited  = "exited"  // the child has ended; EXIT follows HELLO
)

const (
	capabilitiesMax   = 32 // entries
	capabilityNameMax = 32 // bytes
	sessionIDLen      = 36 // UUID in its usual form
	instanceIDLen     = 32 // hexadecimal digits
)

// Hello is the payload of HELLO, the first frame on every connection.
type Hello struct {
	Version      int      `json:"version"`      // ProtoVersion
	SessionID    string   `json:"session_id"`   // lower-case UUID
	InstanceID   string   `json:"instance_id"`  // 32 lower-case hexadecimal digits, new for each worker process
	PID          int      `json:"pid"`          // of the child; 0 before start
	State        string   `json:"state"`        // StateWaiting, StateRunning or StateExited
	Cols         uint16   `json:"cols"`         // 1..SizeMax
	Rows         uint16   `json:"rows"`         // 1..SizeMax
	Epoch        uint64   `json:"epoch"`        // of the committed history
	Offset       uint64   `json:"offset"`       // bytes of history committed in Epoch
	StartedAt    int64    `json:"started_at"`   // when the worker process began, in Unix milliseconds
	History      bool     `json:"history"`      // HISTORY_SUB is understood
	Capabilities []string `json:"capabilities"` // see Capabilities
}

// AppendHello appends HELLO.
func AppendHello(dst []byte, h Hello) ([]byte, error) { return appendStructured(dst, KindHello, h) }

// DecodeHello reads the payload of HELLO. A HELLO of another version is ErrVersion, whatever else it
// holds; any other fault is ErrPayload or a size error.
func DecodeHello(payload []byte) (Hello, error) {
	if err := checkDecode(KindHello, payload); err != nil {
		return Hello{}, err
	}
	version, err := strictjson.Version(payload, "version")
	if err != nil {
		return Hello{}, fmt.Errorf("decode HELLO: %w: %w", ErrPayload, err)
	}
	if version != ProtoVersion {
		return Hello{}, fmt.Errorf("decode HELLO: %w: %d, ours is %d", ErrVersion, version, ProtoVersion)
	}
	return decodeStructured[Hello](KindHello, payload)
}

// Can reports whether the worker lists a capability; every worker can do "".
func (h Hello) Can(capability string) bool {
	return capability == "" || slices.Contains(h.Capabilities, capability)
}

func (h Hello) check() error {
	switch {
	case h.Version != ProtoVersion:
		return fmt.Errorf("%w: %d, ours is %d", ErrVersion, h.Version, ProtoVersion)
	case !isUUID(h.SessionID):
		return fmt.Errorf("%w: session_id is not a lower-case UUID", ErrPayload)
	case len(h.InstanceID) != instanceIDLen || !isHex(h.InstanceID):
		return fmt.Errorf("%w: instance_id is not 32 lower-case hexadecimal digits", ErrPayload)
	case h.State != StateWaiting && h.State != StateRunning && h.State != StateExited:
		return fmt.Errorf("%w: unknown state", ErrPayload)
	case h.PID < 0 || h.State == StateRunning && h.PID == 0 || h.State == StateWaiting && h.PID != 0:
		return fmt.Errorf("%w: pid %d while %s", ErrPayload, h.PID, h.State)
	case h.StartedAt < 0:
		return fmt.Errorf("%w: started_at before 1970", ErrPayload)
	}
	if err := checkCapabilities(h.Capabilities); err != nil {
		return err
	}
	return checkSize(h.Cols, h.Rows)
}

func checkCapabilities(names []string) error {
	if len(names) > capabilitiesMax {
		return fmt.Errorf("%w: %d capabilities, at most %d", ErrPayload, len(names), capabilitiesMax)
	}
	for _, name := range names {
		if len(name) < 1 || len(name) > capabilityNameMax {
			return fmt.Errorf("%w: capability name of %d bytes", ErrPayload, len(name))
		}
		for _, c := range []byte(name) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' {
				return fmt.Errorf("%w: capability name holds 0x%02x", ErrPayload, c)
			}
		}
	}
	return nil
}

// isUUID reports the 8-4-4-4-12 form in lower case.
func isUUID(s string) bool {
	if len(s) != sessionIDLen {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHex(s[i:i+1]) {
			return false
		}
	}
	return true
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
