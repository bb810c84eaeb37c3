// SPDX-License-Identifier: Apache-2.0

// Command term-conformance runs a corpus of terminal streams through our emulator and compares.
//
//	go run ./tools/term-conformance --corpus FILE.jsonl [--oracle] [--repaint] [--suite] [--dump]
//
// docs/conformance.md says what each check means. It ends with 1 when a difference is unexplained or an
// explanation is out of date, with 2 when it can't run.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"spawn/internal/strictjson"
	"spawn/tools/term-conformance/grid"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitDiffers = 1
	exitBroken  = 2
)

// options are the command line.
type options struct {
	corpus, explained, root        string
	oracle, repaint, suite, dump   bool
	only                           *regexp.Regexp // nil for all cases
	diffLeft, diffRight, onlyWords string
}

func parseOptions(args []string, errs io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("term-conformance", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.corpus, "corpus", "", "the cases, one JSON object a line")
	f.BoolVar(&o.oracle, "oracle", false, "compare cells, attributes, cursor, modes and answers with @xterm/headless")
	f.BoolVar(&o.repaint, "repaint", false, "compare what our repaint leads to, in xterm.js and in our emulator")
	f.BoolVar(&o.suite, "suite", false, "compare with what the suites want")
	f.BoolVar(&o.dump, "dump", false, "print the state of each case as grid-state JSON (with --oracle the oracle's too) and compare nothing")
	f.StringVar(&o.onlyWords, "case", "", "only the cases whose suite/name matches this regular expression")
	f.StringVar(&o.root, "root", ".", "the root of the repository")
	f.StringVar(&o.explained, "explained", "", "the explained differences (default: the repository's)")
	diff := f.Bool("diff", false, "compare two files of grid-state JSON, named as arguments")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if o.only, err = regexp.Compile(o.onlyWords); err != nil {
		return nil, fmt.Errorf("read --case: %w", err)
	}
	if *diff && f.NArg() == 2 {
		o.diffLeft, o.diffRight = f.Arg(0), f.Arg(1)
		return o, nil
	}
	if *diff || f.NArg() > 0 || o.corpus == "" {
		return nil, errors.New("want --corpus FILE, or --diff FILE FILE")
	}
	if o.explained == "" {
		o.explained = filepath.Join(o.root, "tools", "term-conformance", "explained.json")
	}
	return o, nil
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parseOptions(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	differs := false
	if err == nil {
		buffered := bufio.NewWriter(out)
		differs, err = o.run(ctx, buffered)
		err = errors.Join(err, buffered.Flush())
	}
	switch {
	case err != nil:
		fmt.Fprintln(errs, "term-conformance:", err)
		return exitBroken
	case differs:
		return exitDiffers
	}
	return 0
}

func (o *options) run(ctx context.Context, out io.Writer) (differs bool, err error) {
	if o.diffLeft != "" {
		return diffFiles(out, o.diffLeft, o.diffRight)
	}
	all, err := readCorpus(o.corpus)
	if err != nil {
		return false, err
	}
	var cases []*testCase
	for _, c := range all {
		if o.only.MatchString(c.key) {
			cases = append(cases, c)
		}
	}
	if o.dump {
		return false, o.dumpAll(ctx, out, cases)
	}
	explained, err := readExplained(o.explained)
	if err != nil {
		return false, err
	}
	checks := map[string]bool{checkSplit: true, checkRefeed: o.repaint, checkSuite: o.suite, checkOracle: o.oracle, checkRepaint: o.repaint, checkWitness: o.suite && o.oracle}
	verdicts := local(cases, checks)
	remote, err := withOracle(ctx, o.root, cases, checks)
	if err != nil {
		return false, err
	}
	r := newReport(append(verdicts, remote...), explained, len(cases) == len(all))
	r.print(out)
	return r.failed(), nil
}

// dumpAll prints the last state of each case: ours, then the oracle's if it was asked for.
func (o *options) dumpAll(ctx context.Context, out io.Writer, cases []*testCase) error {
	var ends []session
	for _, c := range cases {
		lives := c.sessions()
		ends = append(ends, lives[len(lives)-1])
	}
	var screens []screen
	var err error
	if o.oracle {
		if screens, err = askOracle(ctx, o.root, ends); err != nil {
			return err
		}
	}
	for i, c := range cases {
		states := []*grid.Grid{grid.FromState(ends[i].run(false).State())}
		if o.oracle {
			theirs, err := screens[i].grid()
			if err != nil {
				return fmt.Errorf("dump %s: %w", c.key, err)
			}
			states = append(states, theirs)
		}
		for _, g := range states {
			g.Suite, g.Name = c.Suite, c.Name
			line, err := strictjson.Marshal(g)
			if err != nil {
				return fmt.Errorf("dump %s: %w", c.key, err)
			}
			fmt.Fprintf(out, "%s\n", line)
		}
	}
	return nil
}
