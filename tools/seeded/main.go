// SPDX-License-Identifier: Apache-2.0

// Command seeded tests the tests: it puts each known bug into a copy of the tree and wants the tests that are named
// for it to fail. A bug that no test notices, one that does not build and one whose place is gone all fail the run; so does
// a test that fails, or is not there, without the bug: then its failure with it would say nothing.
//
//	seeded [-root DIR] [-turn N] [name ...]     no name: all of them, or the N whose turn it is by the number of commits
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// testTimeout bounds one bug's tests: many bugs show as a test that hangs.
	testTimeout = 90 * time.Second
	// classTimeout is that of a class of faults, which builds the programs and runs them often.
	classTimeout = 5 * time.Minute
)

func main() {
	root := flag.String("root", ".", "root of the tree")
	some := flag.Int("turn", 0, "try so many whose turn it is, and not all")
	flag.Parse()
	chosen, err := choose(*root, *some, flag.Args())
	if err == nil {
		err = run(*root, chosen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "seeded:", err)
		os.Exit(1)
	}
}

// choose returns the bugs that are named, those whose turn it is, or all.
func choose(root string, some int, names []string) (chosen []bug, err error) {
	if len(names) == 0 && some == 0 {
		return bugs, nil
	}
	if len(names) == 0 {
		said, err := exec.Command("git", "-C", root, "rev-list", "--count", "HEAD").Output()
		commits, _ := strconv.Atoi(strings.TrimSpace(string(said)))
		if err != nil {
			fmt.Printf("seeded: the number of commits is not known, so it is the first bugs' turn: %v\n", err)
		}
		return turn(some, commits), nil
	}
	for _, name := range names {
		i := slices.IndexFunc(bugs, func(b bug) bool { return b.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no bug is called %q", name)
		}
		chosen = append(chosen, bugs[i])
	}
	return chosen, nil
}

// turn is n bugs, others with each commit, so that all are tried again and again at little cost, and the same commit has the
// same.
func turn(n, commits int) (chosen []bug) {
	for i := range min(n, len(bugs)) {
		chosen = append(chosen, bugs[(commits*n+i)%len(bugs)])
	}
	return chosen
}

func run(root string, chosen []bug) error {
	tree, err := os.MkdirTemp("", "seeded-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	if err := copyTree(root, tree); err != nil {
		return err
	}
	missed := 0
	sound := map[guard]error{} // what came of tests without a bug
	for _, b := range chosen {
		for _, g := range b.guards() {
			err, known := sound[g]
			if !known {
				err = g.passesWithout(tree)
				sound[g] = err
			}
			hangs := false
			if err == nil {
				hangs, err = b.try(tree, g)
			}
			if err != nil {
				missed++
				fmt.Printf("seeded: %-30s %-6s MISSED: %v\n", b.name, b.row, err)
				continue
			}
			how := "caught"
			if hangs {
				how = "caught, by a hang,"
			}
			fmt.Printf("seeded: %-30s %-6s %s by %s\n", b.name, b.row, how, g.tests)
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d times a bug was not caught", missed)
	}
	return nil
}

// copyTree copies what the programs and the tests of Go packages need.
func copyTree(root, to string) error {
	for _, name := range []string{"go.mod", "go.sum", "cmd", "docs", "internal", "packaging", "web/dist"} {
		at := filepath.Join(to, filepath.Dir(name))
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		if said, err := exec.Command("cp", "-R", filepath.Join(root, name), at).CombinedOutput(); err != nil {
			return fmt.Errorf("copy %s: %w: %s", name, err, said)
		}
	}
	sources, err := filepath.Glob(filepath.Join(root, "web", "*.go"))
	if err != nil {
		return err
	}
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, "web", filepath.Base(path)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// guard is tests of which one must notice a bug.
type guard struct{ folder, tests string }

// guards are all that must notice it, each for itself.
func (b bug) guards() []guard {
	all := []guard{{b.folder, b.tests}}
	if class, ok := classes[b.name]; ok {
		all = append(all, class)
	}
	return all
}

// passesWithout wants each of the tests to be there and to pass in the sound tree.
func (g guard) passesWithout(tree string) error {
	names, err := gotool(tree, "test", "-list", g.pattern(), g.folder)
	if err != nil {
		return fmt.Errorf("%s does not build without the bug: %w\n%s", g.folder, err, names)
	}
	if name := g.missing(string(names)); name != "" {
		return fmt.Errorf("there is no test %s", name)
	}
	if said, err := g.test(tree); err != nil {
		return fmt.Errorf("%s fails without the bug: %w\n%s", g.tests, err, said)
	}
	return nil
}

// isClass reports whether the tests are a class of faults.
func (g guard) isClass() bool {
	for _, class := range classes {
		if g == class {
			return true
		}
	}
	return false
}

func (g guard) pattern() string { return "^(" + g.tests + ")$" }

// missing is one of the guard's tests that is not among the lines of a list; "" when all are.
func (g guard) missing(list string) string {
	for _, name := range strings.Split(g.tests, "|") {
		if !regexp.MustCompile(`(?m)^(?:` + name + `)$`).MatchString(list) {
			return name
		}
	}
	return ""
}

// test runs the tests in the tree as it is.
func (g guard) test(tree string) ([]byte, error) {
	timeout := testTimeout
	if g.isClass() {
		timeout = classTimeout
	}
	return gotool(tree, "test", "-count=1", "-timeout", timeout.String(), "-run", g.pattern(), g.folder)
}

// try puts the bug in, wants it to build and the tests to fail, and takes it out again. It reports whether they failed by
// running out of time.
func (b bug) try(tree string, g guard) (hangs bool, err error) {
	path := filepath.Join(tree, b.file)
	sound, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	broken, err := b.apply(sound)
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, sound, 0o600)) }()
	if said, err := gotool(tree, "vet", "./"+filepath.Dir(b.file), g.folder); err != nil {
		return false, fmt.Errorf("it does not build: %w\n%s", err, said)
	}
	said, err := g.test(tree)
	if err == nil {
		return false, fmt.Errorf("%s passes", g.tests)
	}
	return bytes.Contains(said, []byte("test timed out after")), nil
}

// apply returns the source with the bug in it. What the bug replaces must be there exactly once.
func (b bug) apply(source []byte) ([]byte, error) {
	for _, e := range b.edits {
		if n := bytes.Count(source, []byte(e.sound)); n != 1 {
			return nil, fmt.Errorf("%s has the place of this bug %d times: %q", b.file, n, e.sound)
		}
		source = bytes.Replace(source, []byte(e.sound), []byte(e.broken), 1)
	}
	return source, nil
}

func gotool(tree string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*classTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = tree
	return cmd.CombinedOutput()
}
