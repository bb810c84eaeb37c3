// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"spawn/internal/strictjson"
)

// figure is one line of the report. Floor is what the same run measured without us, in the same unit; Ratio is
// Value over Floor, or the median of the ratios of single rounds where both were measured by turns.
type figure struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit"`
	Floor *float64 `json:"floor"` // null when there is none
	Ratio *float64 `json:"ratio"`
	Note  string   `json:"note"`
}

// over gives a figure its floor, and the ratio of both.
func (f figure) over(floor float64) figure {
	if floor > 0 {
		ratio := f.Value / floor
		f.Floor, f.Ratio = &floor, &ratio
	}
	return f
}

// paired gives a figure its floor, and the ratio of the rounds.
func (f figure) paired(floor, ratio float64) figure {
	f.Floor, f.Ratio = &floor, &ratio
	return f
}

// report prints figures as they come and keeps them.
type report struct {
	out     io.Writer
	only    *regexp.Regexp
	figures []figure
}

func newReport(out io.Writer, only *regexp.Regexp) *report { return &report{out: out, only: only} }

// wants says whether any of the figures was asked for.
func (r *report) wants(names ...string) bool {
	for _, name := range names {
		if r.only.MatchString(name) {
			return true
		}
	}
	return false
}

// add prints a figure and keeps it, if it was asked for.
func (r *report) add(f figure) {
	if !r.wants(f.Name) {
		return
	}
	r.figures = append(r.figures, f)
	ratio := ""
	if f.Ratio != nil {
		ratio = fmt.Sprintf("× %.3g of %.4g", *f.Ratio, *f.Floor)
	}
	fmt.Fprintf(r.out, "%-26s %10s %-11s %-22s %s\n", f.Name, number(f.Value), f.Unit, ratio, f.Note)
}

// number keeps what a person compares: three or four digits, without an exponent where it can be helped.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 0.01:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.1e", v)
}

// write puts all figures into a file, one a line.
func (r *report) write(path string) error {
	var text bytes.Buffer
	for i, f := range r.figures {
		line, err := strictjson.Marshal(f)
		if err != nil {
			return err
		}
		text.WriteString([]string{"[", ",\n "}[min(i, 1)])
		text.Write(line)
	}
	if len(r.figures) == 0 {
		text.WriteByte('[')
	}
	text.WriteString("]\n")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}
