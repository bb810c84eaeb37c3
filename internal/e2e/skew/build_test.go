// SPDX-License-Identifier: Apache-2.0

//go:build linux

package skew

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	// candidatesMax bounds how many commits are tried: each try is a build.
	candidatesMax = 4
	// commitsMax bounds how far back the search looks.
	commitsMax = 100
)

// generation is one build of the worker, and of this test with the fleet of the same commit.
type generation struct {
	name   string
	worker string // path of spawn-worker
	driver string // path of this test's binary
}

// built holds the two generations, made once.
var built struct {
	once     sync.Once
	folder   string
	now, old generation
	skip     string // why there is no old one
	err      error
}

// generations returns the work tree's build and an earlier one, or skips the test where there is no history to build from.
func generations(t *testing.T) (now, old generation) {
	t.Helper()
	built.once.Do(func() { built.err = buildBoth() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	if built.skip != "" {
		t.Skip(built.skip) // also where everything is wanted: what a clone holds is no matter of the system
	}
	t.Logf("the earlier build is %s", built.old.name)
	return built.now, built.old
}

func buildBoth() (err error) {
	if built.folder, err = os.MkdirTemp("", "skew"); err != nil {
		return err
	}
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		built.skip = fmt.Sprintf("no git history to build an earlier worker from: %v", err)
		return nil
	}
	if shallow, err := output(root, "git", "rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		built.skip = "the clone is shallow: there is no earlier worker to build"
		return nil
	}
	if built.now, err = build("now", root); err != nil {
		return err
	}
	return buildOld(root)
}

// buildOld builds the first candidate that builds.
func buildOld(root string) error {
	commits, err := candidates(root)
	if err != nil {
		return err
	}
	var failed []error
	for _, commit := range commits {
		if built.old, err = buildCommit(root, commit); err == nil {
			return nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", commit, err))
	}
	return fmt.Errorf("no earlier commit builds: %w", errors.Join(failed...))
}

// candidates are commits in the order of their worth to this test: the newest that speak another wire, then those with
// another worker, then the newest of all.
func candidates(root string) ([]string, error) {
	list, err := output(root, "git", "rev-list", fmt.Sprintf("--max-count=%d", commitsMax), "HEAD", "--", "internal/sessiond", "cmd/spawn-worker")
	if err != nil {
		return nil, err
	}
	head, err := output(root, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	var wires, workers []string
	for _, commit := range strings.Fields(list) {
		switch {
		case differs(root, commit, "internal/sessiond/wire"):
			wires = append(wires, commit)
		case differs(root, commit, "internal/sessiond"), differs(root, commit, "cmd/spawn-worker"):
			workers = append(workers, commit)
		}
	}
	found := append(wires[:min(len(wires), candidatesMax)], workers[:min(len(workers), candidatesMax)]...)
	return append(found, head), nil
}

// differs reports whether the programs' sources below path are others in commit than in the work tree.
func differs(root, commit, path string) bool {
	return exec.Command("git", "-C", root, "diff", "--quiet", commit, "--", ":(glob)"+path+"/**/*.go", ":(exclude,glob)**/*_test.go").Run() != nil
}

// buildCommit builds a commit from an archive of it: the repository itself is only read.
func buildCommit(root, commit string) (generation, error) {
	tree := filepath.Join(built.folder, commit)
	if err := os.Mkdir(tree, 0o700); err != nil {
		return generation{}, err
	}
	archive := exec.Command("git", "-C", root, "archive", "--format=tar", commit)
	extract := exec.Command("tar", "-x", "-C", tree)
	pipe, err := archive.StdoutPipe()
	if err != nil {
		return generation{}, err
	}
	extract.Stdin = pipe
	if err := archive.Start(); err != nil {
		return generation{}, err
	}
	said, extracted := extract.CombinedOutput()
	if err := errors.Join(archive.Wait(), extracted); err != nil {
		return generation{}, fmt.Errorf("extract: %w: %s", err, said)
	}
	if err := plant(root, tree); err != nil {
		return generation{}, err
	}
	return build(commit, tree)
}

// plant puts these very sources into an extracted tree, so that they are linked with its fleet.
func plant(root, tree string) error {
	const folder = "internal/e2e/skew"
	if err := errors.Join(os.RemoveAll(filepath.Join(tree, folder)), os.MkdirAll(filepath.Join(tree, folder), 0o700)); err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range sources {
		if !strings.HasSuffix(path, "build_test.go") && !strings.HasSuffix(path, "drive_test.go") {
			continue // the others may need what only the present has
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tree, folder, filepath.Base(path)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func build(name, tree string) (generation, error) {
	g := generation{name, filepath.Join(built.folder, "worker-"+name), filepath.Join(built.folder, "driver-"+name)}
	if _, err := output(tree, "go", "build", "-trimpath", "-o", g.worker, "./cmd/spawn-worker"); err != nil {
		return g, err
	}
	_, err := output(tree, "go", "test", "-c", "-trimpath", "-o", g.driver, "./internal/e2e/skew")
	return g, err
}

// output runs a program in dir and returns what it printed, without the line's end.
func output(dir, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, args[0], err, bytes.TrimSpace(complaints.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}
