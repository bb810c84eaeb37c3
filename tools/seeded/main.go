// SPDX-License-Identifier: Apache-2.0

// Command seeded tests the tests: it puts each known bug into a copy of the tree and wants the tests that are named
// for it to fail. A bug that no test notices, one that does not build and one whose place is gone all fail the run; so does
// a test that fails, or is not there, without the bug: then its failure with it would say nothing.
//
//	seeded [-root DIR] [name ...]     no name: all of them
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
	"slices"
	"time"
)

// testTimeout bounds one bug's tests: many bugs show as a test that hangs.
const testTimeout = 90 * time.Second

func main() {
	root := flag.String("root", ".", "root of the tree")
	flag.Parse()
	if err := run(*root, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "seeded:", err)
		os.Exit(1)
	}
}

func run(root string, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(bugs, func(b bug) bool { return b.name == name }) {
			return fmt.Errorf("no bug is called %q", name)
		}
	}
	tree, err := os.MkdirTemp("", "seeded-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	if err := copyTree(root, tree); err != nil {
		return err
	}
	missed := 0
	sound := map[string]error{} // what came of the tests of a bug without it
	for _, b := range bugs {
		if len(names) > 0 && !slices.Contains(names, b.name) {
			continue
		}
		tests := b.folder + " " + b.tests
		err, known := sound[tests]
		if !known {
			err = b.passesWithout(tree)
			sound[tests] = err
		}
		hangs := false
		if err == nil {
			hangs, err = b.try(tree)
		}
		if err != nil {
			missed++
			fmt.Printf("seeded: %-28s %-6s MISSED: %v\n", b.name, b.row, err)
			continue
		}
		how := "caught"
		if hangs {
			how = "caught, by a hang,"
		}
		fmt.Printf("seeded: %-28s %-6s %s by %s\n", b.name, b.row, how, b.tests)
	}
	if missed > 0 {
		return fmt.Errorf("%d bugs were not caught", missed)
	}
	return nil
}

// copyTree copies what the tests of Go packages need.
func copyTree(root, to string) error {
	for _, name := range []string{"go.mod", "go.sum", "cmd", "internal", "packaging", "web/dist"} {
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

// passesWithout wants each of the bug's tests to be there and to pass in the sound tree.
func (b bug) passesWithout(tree string) error {
	said, err := b.test(tree)
	switch {
	case err != nil:
		return fmt.Errorf("%s fails without the bug: %w\n%s", b.tests, err, said)
	case bytes.Contains(said, []byte("no tests to run")):
		return fmt.Errorf("there is no test %s", b.tests)
	}
	return nil
}

// test runs the bug's tests in the tree as it is.
func (b bug) test(tree string) ([]byte, error) {
	return gotool(tree, "test", "-count=1", "-timeout", testTimeout.String(), "-run", "^("+b.tests+")$", b.folder)
}

// try puts the bug in, wants it to build and its tests to fail, and takes it out again. It reports whether they failed by
// running out of time.
func (b bug) try(tree string) (hangs bool, err error) {
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
	if said, err := gotool(tree, "vet", "./"+filepath.Dir(b.file), b.folder); err != nil {
		return false, fmt.Errorf("it does not build: %w\n%s", err, said)
	}
	said, err := b.test(tree)
	if err == nil {
		return false, fmt.Errorf("%s passes", b.tests)
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
	ctx, cancel := context.WithTimeout(context.Background(), 3*testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = tree
	return cmd.CombinedOutput()
}
