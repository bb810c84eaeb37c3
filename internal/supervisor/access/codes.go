// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"time"
)

// A Code is the secret of one pairing link. It prints as what the link carries in its fragment, which
// a browser sends to nobody.
type Code [codeBytes]byte

// String returns the code as the link carries it. Do not log it.
func (c Code) String() string { return encode(c[:]) }

func (c Code) id() codeID {
	sum := sha256.Sum256(c[:])
	return codeID(sum[:codeIDBytes])
}

type codeID [codeIDBytes]byte

type livingCode struct {
	code    Code
	id      codeID
	expires time.Time
	wrong   int // tries at this code that failed
}

// codes are the living pairing codes, oldest first, and the count of tries at codes that are not.
type codes struct {
	living      []livingCode
	wrong       int       // in the window
	windowStart time.Time // of the count; zero before the first wrong try
}

func (cs *codes) add(c Code, now time.Time) {
	cs.expire(now)
	if len(cs.living) == codesMax {
		cs.living = slices.Delete(cs.living, 0, 1)
	}
	cs.living = append(cs.living, livingCode{code: c, id: c.id(), expires: now.Add(CodeLife)})
}

// check returns the living code under which the MAC was made. It does not use it up.
func (cs *codes) check(id codeID, mac, text []byte, now time.Time) (Code, error) {
	cs.expire(now)
	i := slices.IndexFunc(cs.living, func(l livingCode) bool { return bytes.Equal(l.id[:], id[:]) })
	var code Code // the zero code keeps the work the same when there is none
	if i >= 0 {
		code = cs.living[i].code
	}
	if hmac.Equal(keyed(code, text), mac) && i >= 0 {
		return code, nil
	}
	if i < 0 {
		return Code{}, cs.countWrong(now)
	}
	if cs.living[i].wrong++; cs.living[i].wrong == triesMax {
		cs.living = slices.Delete(cs.living, i, i+1)
	}
	return Code{}, ErrPairing
}

func (cs *codes) countWrong(now time.Time) error {
	if cs.windowStart.IsZero() || now.Sub(cs.windowStart) >= wrongTriesWindow {
		cs.wrong, cs.windowStart = 0, now
	}
	if cs.wrong == wrongTriesMax {
		return ErrBusy
	}
	cs.wrong++
	return ErrPairing
}

// use ends a code's life.
func (cs *codes) use(c Code) {
	cs.living = slices.DeleteFunc(cs.living, func(l livingCode) bool { return l.code == c })
}

func (cs *codes) expire(now time.Time) {
	cs.living = slices.DeleteFunc(cs.living, func(l livingCode) bool { return !now.Before(l.expires) })
}
