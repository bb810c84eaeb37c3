// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"time"
)

// TextMode says whether checkpoints hold terminal text.
type TextMode string

const (
	TextModeOff   TextMode = "off"
	TextModePlain TextMode = "plain"
)

// Bounds of the configuration (recovery specification, section 2).
const (
	policyIntervalMin  = time.Second
	policyIntervalMax  = time.Hour
	policyCheckpoints  = 100
	policyFileBytesMin = 64 << 10
	policyAgeMax       = 2_592_000 // seconds, 30 days
	policyTextRowsMax  = 100_000
	policyTextBytesMax = 16 << 20
	defaultInterval    = 30 * time.Second
	defaultCheckpoints = 3
	defaultFileBytes   = 16 << 20
	defaultAge         = 604_800 // seconds, a week
	defaultTextRows    = 10_000
	defaultTextBytes   = 1 << 20
	defaultTextAge     = 86_400 // seconds, a day
)

// Policy is the section of the configuration that governs checkpoints.
type Policy struct {
	Enabled        bool
	Interval       time.Duration // between periodic checkpoints; 1 s to 1 h
	MaxCheckpoints int           // files kept; 1 to 100
	MaxBytes       int           // of one file; 64 KiB to 64 MiB
	MaxAge         int64         // seconds that a checkpoint may be restored; at most 30 days
	Text           TextMode
	TextMaxRows    int   // screen and history of one pane; 0 to 100,000, 0 for no text
	TextMaxBytes   int   // likewise; 0 to 16 MiB
	TextMaxAge     int64 // seconds; at most MaxAge
}

// DefaultPolicy writes nothing and keeps no text.
func DefaultPolicy() Policy {
	return Policy{
		Interval: defaultInterval, MaxCheckpoints: defaultCheckpoints, MaxBytes: defaultFileBytes, MaxAge: defaultAge,
		Text: TextModeOff, TextMaxRows: defaultTextRows, TextMaxBytes: defaultTextBytes, TextMaxAge: defaultTextAge,
	}
}

// Check names the first field that is out of its range. A whole number of milliseconds is asked of Interval.
func (p Policy) Check() error {
	for _, field := range []struct {
		name       string
		at, lo, hi int64
	}{
		{"interval_ms", p.Interval.Milliseconds(), policyIntervalMin.Milliseconds(), policyIntervalMax.Milliseconds()},
		{"max_checkpoints", int64(p.MaxCheckpoints), 1, policyCheckpoints},
		{"max_checkpoint_bytes", int64(p.MaxBytes), policyFileBytesMin, FileBytesMax},
		{"max_age_seconds", p.MaxAge, 1, policyAgeMax},
		{"text_max_rows", int64(p.TextMaxRows), 0, policyTextRowsMax},
		{"text_max_bytes", int64(p.TextMaxBytes), 0, policyTextBytesMax},
		{"text_max_age_seconds", p.TextMaxAge, 1, min(policyAgeMax, p.MaxAge)},
	} {
		if field.at < field.lo || field.at > field.hi {
			return fmt.Errorf("check recovery.%s: %d, want %d to %d", field.name, field.at, field.lo, field.hi)
		}
	}
	if p.Text != TextModeOff && p.Text != TextModePlain {
		return fmt.Errorf("check recovery.terminal_text: want %q or %q", TextModeOff, TextModePlain)
	}
	return nil
}

// KeepsText tells whether text may be captured and shown.
func (p Policy) KeepsText() bool {
	return p.Text == TextModePlain && p.TextMaxRows > 0 && p.TextMaxBytes > 0
}
