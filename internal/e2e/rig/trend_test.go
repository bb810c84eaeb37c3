// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// What comes and goes has no slope, and what is forgotten now and then has its own, however much comes and goes.
func TestTrendTellsALeakFromWhatComesAndGoes(t *testing.T) {
	const step, steps = 10 * time.Second, 360
	for name, leak := range map[string]int64{"none": 0, "one in ten steps": 1} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 1))
			tr := NewTrend(time.Minute)
			now := time.Unix(0, 0)
			for i := range int64(steps) {
				tr.Look(now, 100+i%2*random.Int64N(1000)+leak*i/10)
				now = now.Add(step)
			}
			want := float64(leak) * float64(time.Hour/step) / 10
			if got := tr.PerHour(); tr.Points() < 50 || math.Abs(got-want) > 2 {
				t.Errorf("%d points rise by %.2f an hour, want %.2f", tr.Points(), got, want)
			}
		})
	}
}

func TestTrendOfNothingIsNone(t *testing.T) {
	tr := NewTrend(time.Minute)
	for i := range 2 {
		if got := tr.PerHour(); got != 0 {
			t.Errorf("after %d looks the slope is %v", i, got)
		}
		tr.Look(time.Unix(int64(i)*3600, 0), int64(i))
	}
}

func TestPercentOfTimes(t *testing.T) {
	var s Times
	for i := range 200 {
		s = append(s, time.Duration(200-i))
	}
	if a, b, c := s.Percent(50), s.Percent(99), s.Percent(100); a != 101 || b != 199 || c != 200 {
		t.Errorf("of 1 to 200: %d, %d and %d", a, b, c)
	}
	if one := (Times{7}).Percent(99); one != 7 {
		t.Errorf("of 7 alone: %d", one)
	}
}
