// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"math"
	"time"
)

// Trend tells a leak from what comes and goes: it keeps the lowest value of each span of time, at which nothing was under
// way, and fits a line to these.
type Trend struct {
	every time.Duration
	began time.Time
	due   time.Time // when the span is over
	low   int64     // of the span
	hours []float64 // since began, of each span's end
	lows  []float64
}

// NewTrend begins with the first look; a span lasts that long.
func NewTrend(every time.Duration) *Trend { return &Trend{every: every} }

// Look adds a value.
func (tr *Trend) Look(now time.Time, value int64) {
	if tr.began.IsZero() {
		tr.began, tr.due, tr.low = now, now.Add(tr.every), math.MaxInt64
	}
	tr.low = min(tr.low, value)
	if now.Before(tr.due) {
		return
	}
	tr.hours, tr.lows = append(tr.hours, now.Sub(tr.began).Hours()), append(tr.lows, float64(tr.low))
	tr.due, tr.low = now.Add(tr.every), math.MaxInt64
}

// Points is how many spans there were.
func (tr *Trend) Points() int { return len(tr.lows) }

// PerHour is the slope of the line of least squares, and 0 before there are two points.
func (tr *Trend) PerHour() float64 {
	n := float64(len(tr.lows))
	var meanX, meanY, xx, xy float64
	for i := range tr.lows {
		meanX, meanY = meanX+tr.hours[i]/n, meanY+tr.lows[i]/n
	}
	for i := range tr.lows {
		dx := tr.hours[i] - meanX
		xx, xy = xx+dx*dx, xy+dx*(tr.lows[i]-meanY)
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
