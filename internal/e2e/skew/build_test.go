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

	"spawn/internal/unmet"
)

const (
	// candidatesMax bounds how many commits of a kind are tried: each try is a build.
	candidatesMax = 6
	// commitsMax bounds how far back the search looks.
	commitsMax = 100
)

// generation is one build of both programs, and of this package's driver with the fleet of the same commit.
type generation struct {
	name   string
	folder string // of spawnd, spawn-worker and the driver
}

func (g generation) worker() string { return filepath.Join(g.folder, "spawn-worker") }
func (g generation) driver() string { return filepath.Join(g.folder, "driver") }

// built holds the generations, made once.
var built struct {
	once   sync.Once
	folder string
	now    generation
	olds   []generation
	lacks  string // why there are none
	err    error
}

// generations returns the work tree's build and earlier ones: of the newest commit that speaks another wire, and of the newest
// with another worker. Without history to build from the test is left, and says so: what a clone holds is nobody's mistake, and whoever
// must not miss this has a whole one.
func generations(t *testing.T) (now generation, olds []generation) {
	t.Helper()
	built.once.Do(func() { built.err = buildAll() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	if built.lacks != "" {
		unmet.Leave(t, "workers and spawnds of an earlier build beside this one's: %s", built.lacks)
	}
	for _, old := range built.olds {
		t.Logf("an earlier build is of %s", old.name)
	}
	return built.now, built.olds
}

func buildAll() (err error) {
	if built.folder, err = os.MkdirTemp("", "skew"); err != nil {
		return err
	}
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		built.lacks = fmt.Sprintf("there is no git history: %v", err)
		return nil
	}
	if shallow, err := output(root, "git", "rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		built.lacks = "the clone is shallow"
		return nil
	}
	built.now = generation{"the work tree", filepath.Join(built.folder, "now")}
	if err := errors.Join(built.now.buildWorker(root), built.now.buildRest(root)); err != nil {
		return err
	}
	kinds, err := candidates(root)
	if err != nil {
		return err
	}
	for _, commits := range kinds {
		old, err := buildFirst(root, commits)
		if err != nil {
			return err
		}
		built.olds = append(built.olds, old)
	}
	return nil
}

// buildFirst builds the first commit that has another worker, and that builds.
func buildFirst(root string, commits []string) (generation, error) {
	var failed []error
	for _, commit := range commits {
		old, err := buildCommit(root, commit)
		if err == nil {
			return old, nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", commit, err))
	}
	return generation{}, fmt.Errorf("no earlier commit will do: %w", errors.Join(failed...))
}

// candidates are the newest commits whose wire is another than the work tree's, and the newest whose worker is, without those that
// would be tried twice. A commit that has the very worker of the work tree shows nothing.
func candidates(root string) (kinds [][]string, err error) {
	list, err := output(root, "git", "rev-list", fmt.Sprintf("--max-count=%d", commitsMax), "HEAD", "--", "internal/sessiond", "cmd/spawn-worker")
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
		if len(wires) == candidatesMax {
			break // those before them differ at least as much
		}
	}
	for _, commits := range [][]string{workers, wires} {
		if len(commits) > 0 {
			kinds = append(kinds, commits[:min(len(commits), candidatesMax)])
		}
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("none of %d commits has another worker than the work tree", len(strings.Fields(list)))
	}
	return kinds, nil
}

// differs reports whether the programs' sources below path are others in commit than in the work tree.
func differs(root, commit, path string) bool {
	return exec.Command("git", "-C", root, "diff", "--quiet", commit, "--", ":(glob)"+path+"/**/*.go", ":(exclude,glob)**/*_test.go").Run() != nil
}

// buildCommit builds a commit from an archive of it: the repository itself is only read.
func buildCommit(root, commit string) (generation, error) {
	tree := filepath.Join(built.folder, "tree-"+commit)
	if err := os.Mkdir(tree, 0o700); err != nil {
		return generation{}, err
	}
	defer os.RemoveAll(tree)
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
	old := generation{commit, filepath.Join(built.folder, commit)}
	if err := old.buildWorker(tree); err != nil {
		return old, err
	}
	if same, err := sameFile(old.worker(), built.now.worker()); err != nil || same {
		return old, errors.Join(err, errors.New("its worker is the work tree's, byte for byte"))
	}
	return old, old.buildRest(tree)
}

func sameFile(a, b string) (bool, error) {
	one, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	other, err := os.ReadFile(b)
	return bytes.Equal(one, other), err
}

// plant puts the source of the driver into an extracted tree, so that it is linked with its fleet. The other sources may need what
// only the present has.
func plant(root, tree string) error {
	const folder, driver = "internal/e2e/skew", "drive_test.go"
	if err := errors.Join(os.RemoveAll(filepath.Join(tree, folder)), os.MkdirAll(filepath.Join(tree, folder), 0o700)); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, folder, driver))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tree, folder, driver), text, 0o600)
}

// buildWorker builds the worker so that the same sources make the same bytes.
func (g generation) buildWorker(tree string) error {
	if err := os.Mkdir(g.folder, 0o700); err != nil {
		return err
	}
	_, err := output(tree, "go", "build", "-trimpath", "-buildvcs=false", "-o", g.worker(), "./cmd/spawn-worker")
	return err
}

func (g generation) buildRest(tree string) error {
	_, err := output(tree, "go", "build", "-trimpath", "-buildvcs=false", "-o", g.folder+"/", "./cmd/spawnd")
	if err != nil {
		return err
	}
	_, err = output(tree, "go", "test", "-c", "-trimpath", "-o", g.driver(), "./internal/e2e/skew")
	return err
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
