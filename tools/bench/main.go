// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command bench measures spawn beside floors and peers of the same run, and asserts nothing.
//
//	go run ./tools/bench [-quick] [-only REGEXP] [-n TERMINALS]
//
// It prints one line a figure and writes all of them to bench/latest.json. docs/benchmarks.md says what each
// figure means.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == stampsCommand {
		if printStamps(os.Stdout) != nil { // the terminal is gone, and with it whoever could read why
			os.Exit(1)
		}
		return
	}
	os.Exit(run(os.Args[1:]))
}

// options say what is measured, and how long.
type options struct {
	only      *regexp.Regexp
	quick     bool
	terminals int // of the groups idle and checkpoint
}

// effort picks between the size of a whole run and of a quick one.
func (o options) effort(whole, quick int) int {
	if o.quick {
		return quick
	}
	return whole
}

// bench is what a group of figures works with.
type bench struct {
	options
	*report
	lab *lab
}

// groups run in this order. Each is skipped when none of its figures is wanted.
var groups = []struct {
	name string
	run  func(ctx context.Context, b *bench) error
}{
	{"emulator", measureEmulator},
	{"xterm", measureXterm},
	{"go emulators", measureGoEmulators},
	{"flow", measureFlow},
	{"stalled", measureStalled},
	{"echo", measureEcho},
	{"attach", measureAttach},
	{"checkpoint", measureCheckpoint},
	{"idle", measureIdle},
	{"size", measureSizes},
}

// run returns the exit code. The first SIGINT, SIGTERM or SIGHUP ends the run in an orderly way; more of them
// change nothing, because what was started must be ended.
func run(args []string) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err = measure(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "measure the figures whose name matches this regular expression")
	flags.BoolVar(&o.quick, "quick", false, "less of everything: to see that it works, not to compare")
	flags.IntVar(&o.terminals, "n", 0, "terminals of the figures idle and checkpoint (default 100, quick 20; at least 5)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.terminals == 0 {
		o.terminals = o.effort(100, 20)
	}
	if flags.NArg() > 0 || o.terminals <= printers {
		return o, errors.New("see -help")
	}
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

// measure runs the groups. One that fails is told and does not keep the others from running.
func measure(ctx context.Context, o options) (err error) {
	l, err := openLab()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	b := &bench{options: o, report: newReport(os.Stdout, o.only), lab: l}
	for _, g := range groups {
		if ctx.Err() != nil {
			break
		}
		if failed := g.run(ctx, b); failed != nil && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("measure %s: %w", g.name, failed))
			fmt.Fprintln(os.Stderr, "bench:", g.name, "failed:", failed)
		}
	}
	if ctx.Err() != nil {
		return errors.Join(err, errors.New("interrupted; nothing was written"))
	}
	return errors.Join(err, b.write(l.root+"/bench/latest.json"))
}
