// SPDX-License-Identifier: Apache-2.0

// Package doctor looks for what would keep terminals from living, being reached or being private, and says
// what to do about it. It changes nothing of the user's, and tells nothing that a terminal shows.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// totalTimeout bounds a whole run. Everything but the canary answers at once.
	totalTimeout = 30 * time.Second
	// checkTimeout bounds a check that does not say otherwise.
	checkTimeout = 3 * time.Second
	// probeGrace is how long a probe may take to end after its deadline, to tidy up behind it. One that
	// takes longer hangs in the kernel, on a dead file system for instance, and is left there.
	probeGrace = 6 * time.Second
)

// RunMax is the longest that a whole run takes.
const RunMax = totalTimeout + probeGrace

// Status says how bad a finding is.
type Status string

const (
	OK    Status = "ok"    // as it should be
	Info  Status = "info"  // worth knowing; nothing to do
	Warn  Status = "warn"  // something is worse than it could be, or may fail one day
	Error Status = "error" // something does not work
)

// severity orders statuses, the worst last.
var severity = []Status{OK, Info, Warn, Error}

// Finding is what a probe saw. Message and Remedy never hold a terminal's text, title, name or command.
type Finding struct {
	Status  Status
	Message string
	Remedy  string // instead of the check's; "" for that one
}

func ok(format string, a ...any) Finding {
	return Finding{Status: OK, Message: fmt.Sprintf(format, a...)}
}
func info(format string, a ...any) Finding {
	return Finding{Status: Info, Message: fmt.Sprintf(format, a...)}
}
func warn(format string, a ...any) Finding {
	return Finding{Status: Warn, Message: fmt.Sprintf(format, a...)}
}
func fail(format string, a ...any) Finding {
	return Finding{Status: Error, Message: fmt.Sprintf(format, a...)}
}

// Check is one row of the table.
type Check struct {
	Name   string        // "area.subject", unique
	Why    string        // what a failure means for terminals
	Remedy string        // what to do about it
	Within time.Duration // deadline; 0 is checkTimeout
	Probe  func(context.Context, Env) Finding
}

// Result is a check and what it found.
type Result struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Why     string `json:"why"`
	Remedy  string `json:"remedy"` // "" when there is nothing to do
	TookMS  int64  `json:"took_ms"`
}

// Report is the outcome of a run.
type Report struct {
	Version string   `json:"version"` // of the build that looked
	Status  Status   `json:"status"`  // the worst of all
	Results []Result `json:"results"`
}

// Params choose checks by name; none is all.
type Params struct {
	Checks []string `json:"checks"`
}

// Checks lists the table.
func Checks() []Check { return slices.Clone(checks) }

// ErrUnknownCheck means that there is no check of that name.
var ErrUnknownCheck = errors.New("no such check")

// Answer runs the chosen checks.
func Answer(ctx context.Context, env Env, p Params) (Report, error) {
	table := env.table()
	if len(p.Checks) == 0 {
		return run(ctx, env, table), nil
	}
	chosen := make([]Check, 0, len(p.Checks))
	for _, name := range p.Checks {
		i := slices.IndexFunc(table, func(c Check) bool { return c.Name == name })
		if i < 0 {
			return Report{}, fmt.Errorf("run check %q: %w", name, ErrUnknownCheck)
		}
		chosen = append(chosen, table[i])
	}
	return run(ctx, env, chosen), nil
}

// Run runs every check, one after the other.
func Run(ctx context.Context, env Env) Report { return run(ctx, env, env.table()) }

func run(ctx context.Context, env Env, table []Check) Report {
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	report := Report{Version: env.Version, Status: OK}
	for _, c := range table {
		began := time.Now()
		f := c.run(ctx, env)
		r := Result{Name: c.Name, Status: f.Status, Message: f.Message, Why: c.Why, TookMS: time.Since(began).Milliseconds()}
		if f.Status == Warn || f.Status == Error {
			if r.Remedy = f.Remedy; r.Remedy == "" {
				r.Remedy = c.Remedy
			}
		}
		report.Results = append(report.Results, r)
		report.Status = worse(report.Status, f.Status)
	}
	return report
}

func worse(a, b Status) Status {
	return severity[max(slices.Index(severity, a), slices.Index(severity, b))]
}

// run waits for the probe, which ends by its context, and gives up on one that does not.
func (c Check) run(ctx context.Context, env Env) Finding {
	within := c.Within
	if within == 0 {
		within = checkTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if ctx.Err() != nil {
		return fail("not looked at: the time for all checks is over")
	}
	found := make(chan Finding, 1)
	go func() { found <- c.Probe(ctx, env) }()
	select {
	case f := <-found:
		return f
	case <-ctx.Done():
	}
	grace := time.NewTimer(probeGrace)
	defer grace.Stop()
	select {
	case f := <-found:
		return f
	case <-grace.C:
		return fail("no answer within %v: the system hangs on it", within+probeGrace)
	}
}
