// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package rig stands spawn up with real processes, in folders that nobody else uses, for the tests below
// internal/e2e: programs built from this tree, a host that runs them, and a generator whose every byte is known.
package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// builds are the folders with programs, one for each set of tags, each made when it is first asked for.
var builds struct {
	sync.Mutex
	folders map[string]string
}

// Main is the TestMain of a package that uses this one: the same binary is the generator when a terminal starts
// it as that, and what was built is removed at the end. It returns the exit code.
func Main(m *testing.M) int {
	if len(os.Args) > 1 && os.Args[1] == generatorArg {
		if err := runGenerator(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	defer func() {
		for _, folder := range builds.folders {
			os.RemoveAll(folder)
		}
	}()
	return m.Run()
}

// Build returns the folder with spawnd and spawn-worker, built with these tags.
func Build(t testing.TB, tags ...string) string {
	t.Helper()
	key := strings.Join(tags, ",")
	builds.Lock()
	defer builds.Unlock()
	if folder, ok := builds.folders[key]; ok {
		return folder
	}
	folder, err := os.MkdirTemp("", "spawn-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", key, "-o", folder+"/", "spawn/cmd/spawnd", "spawn/cmd/spawn-worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as they are released
	if said, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(folder)
		t.Fatalf("build the programs with tags %q: %v\n%s", key, err, said)
	}
	if builds.folders == nil {
		builds.folders = map[string]string{}
	}
	builds.folders[key] = folder
	return folder
}

// WrapWorker makes a folder of programs whose spawn-worker is a shell script before the real one. In it, $worker
// is the real one's path and "$@" its arguments.
func WrapWorker(t testing.TB, programs, script string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Link(filepath.Join(programs, "spawnd"), filepath.Join(folder, "spawnd")); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\nworker=%s\n%s\n", filepath.Join(programs, "spawn-worker"), script)
	if err := os.WriteFile(filepath.Join(folder, "spawn-worker"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}
