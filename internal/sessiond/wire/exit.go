// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"math"
)

// signalNameMax is the most bytes of Exit.Signal.
const signalNameMax = 32

// Exit is the payload of EXIT: how the child ended. Neither member is set when nobody knows, for
// instance because it could not be started; that must never be shown as success.
type Exit struct {
	ExitCode *int   `json:"exit_code,omitzero"` // 0..2^32-1; nil when a signal ended it or nobody knows
	Signal   string `json:"signal,omitzero"`    // printable ASCII, such as SIGKILL; "" when none
}

// AppendExit appends EXIT.
func AppendExit(dst []byte, e Exit) ([]byte, error) { return appendStructured(dst, KindExit, e) }

// DecodeExit reads the payload of EXIT.
func DecodeExit(payload []byte) (Exit, error) { return decodeStructured[Exit](KindExit, payload) }

func (e Exit) check() error {
	if e.ExitCode != nil && e.Signal != "" {
		return fmt.Errorf("%w: both exit_code and signal", ErrPayload)
	}
	if e.ExitCode != nil && (*e.ExitCode < 0 || *e.ExitCode > math.MaxUint32) {
		return fmt.Errorf("%w: exit_code %d", ErrPayload, *e.ExitCode)
	}
	if len(e.Signal) > signalNameMax {
		return fmt.Errorf("%w: signal name of %d bytes", ErrPayload, len(e.Signal))
	}
	for _, c := range []byte(e.Signal) {
		if c < 0x20 || c > 0x7e {
			return fmt.Errorf("%w: signal name holds 0x%02x", ErrPayload, c)
		}
	}
	return nil
}
