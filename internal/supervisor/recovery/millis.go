// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"time"
)

// Millis is a moment in UTC, in milliseconds since 1970. Zero means "no moment". As an integer it has
// neither of time.Time's traps: no zone, and no value that compares false with everything.
type Millis int64

// millisMax is the last millisecond of the year 9999, beyond which RFC 3339 cannot write.
const millisMax Millis = 253_402_300_799_999

// millisLayout is RFC 3339 in UTC with milliseconds.
const millisLayout = "2006-01-02T15:04:05.000Z"

// MillisOf cuts t to its millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time is the moment as a time.Time in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// valid tells whether the moment can be written: from 1970, without its first millisecond, to 9999.
func (m Millis) valid() bool { return m > 0 && m <= millisMax }

// Plus is m and so many seconds.
func (m Millis) Plus(seconds int64) Millis { return m + Millis(seconds)*1000 }

// MarshalText writes the moment as the format has it.
func (m Millis) MarshalText() ([]byte, error) {
	if !m.valid() {
		return nil, errors.New("moment outside of 1970 to 9999")
	}
	return m.Time().AppendFormat(nil, millisLayout), nil
}

// UnmarshalText reads what MarshalText wrote and nothing else.
func (m *Millis) UnmarshalText(text []byte) error {
	t, err := time.Parse(millisLayout, string(text))
	if err != nil {
		return errors.New("not a moment in UTC with milliseconds")
	}
	*m = MillisOf(t)
	if back, err := m.MarshalText(); err != nil || string(back) != string(text) {
		return errors.New("not a moment in UTC with milliseconds")
	}
	return nil
}
