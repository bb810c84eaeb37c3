// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Of a case that differs so many differences are printed, and so many bytes of each.
const (
	diffsShown     = 4
	diffBytesShown = 300
)

// row is what became of one suite in one check.
type row struct {
	check, suite                    string
	cases, agree, explained, differ int
}

// report is the outcome of a run.
type report struct {
	rows []*row
	// unexplained are cases that differ without an explanation.
	unexplained []verdict
	// stale are explanations of cases that agree, or that don't exist.
	stale []string
}

// newReport counts verdicts. whole says that the corpus wasn't filtered, so that an explained case
// which isn't there is a mistake.
func newReport(verdicts []verdict, explained explanations, whole bool) *report {
	r := &report{}
	at := map[[2]string]*row{}
	seen := map[[2]string]bool{}
	for _, v := range verdicts {
		group := [2]string{v.check, v.c.Suite}
		if at[group] == nil {
			at[group] = &row{check: v.check, suite: v.c.Suite}
			r.rows = append(r.rows, at[group])
		}
		seen[[2]string{v.check, v.c.key}] = true
		r.count(at[group], v, explained[[2]string{v.check, v.c.key}] != nil)
	}
	for key := range explained {
		suite, _, _ := strings.Cut(key[1], "/")
		if whole && at[[2]string{key[0], suite}] != nil && !seen[key] {
			r.stale = append(r.stale, fmt.Sprintf("%s: %s is explained, but there is no such case", key[0], key[1]))
		}
	}
	slices.Sort(r.stale)
	return r
}

func (r *report) count(at *row, v verdict, explained bool) {
	at.cases++
	switch {
	case len(v.diffs) == 0:
		at.agree++
		if explained {
			r.stale = append(r.stale, fmt.Sprintf("%s: %s is explained, but agrees", v.check, v.c.key))
		}
	case explained:
		at.explained++
	default:
		at.differ++
		r.unexplained = append(r.unexplained, v)
	}
}

// failed reports whether a difference is unexplained, or an explanation out of date.
func (r *report) failed() bool { return len(r.unexplained) > 0 || len(r.stale) > 0 }

// table returns the figures as a table of Markdown.
func (r *report) table() string {
	var out strings.Builder
	line := func(cells ...any) {
		fmt.Fprintf(&out, "| %-7v | %-13v | %5v | %5v | %9v | %6v |\n", cells...)
	}
	line("check", "suite", "cases", "agree", "explained", "differ")
	out.WriteString("|---------|---------------|------:|------:|----------:|-------:|\n")
	for _, w := range r.rows {
		line(w.check, w.suite, w.cases, w.agree, w.explained, w.differ)
	}
	return out.String()
}

// print writes the table and what makes the run fail.
func (r *report) print(w io.Writer) {
	fmt.Fprint(w, r.table())
	for _, v := range r.unexplained {
		fmt.Fprintf(w, "\n%s: %s differs\n", v.check, v.c.key)
		for _, d := range v.diffs[:min(len(v.diffs), diffsShown)] {
			fmt.Fprintf(w, "\t%.*s\n", diffBytesShown, d)
		}
	}
	for _, s := range r.stale {
		fmt.Fprintln(w, s)
	}
}
