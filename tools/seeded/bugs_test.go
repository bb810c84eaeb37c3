// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A bug whose place has changed tests nothing any more.
func TestEveryBugStillHasItsPlace(t *testing.T) {
	names := map[string]bool{}
	for _, b := range bugs {
		if names[b.name] {
			t.Errorf("%s is there twice", b.name)
		}
		names[b.name] = true
		sound, err := os.ReadFile(filepath.Join("../..", b.file))
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		broken, err := b.apply(sound)
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
		} else if bytes.Equal(sound, broken) {
			t.Errorf("%s changes nothing", b.name)
		}
	}
	for name := range classes {
		if !names[name] {
			t.Errorf("no bug is called %s", name)
		}
	}
}

// A test that was renamed notices nothing any more, also where another of the same bug is there still.
func TestEveryNameMustBeATest(t *testing.T) {
	for tests, missing := range map[string]string{
		"TestA":          "",
		"TestA|TestB":    "",
		"TestA|TestGone": "TestGone",
		"TestGone|TestA": "TestGone",
		"Test[AB]":       "",
		"TestAll.*":      "TestAll.*",
		"estA":           "estA",
	} {
		if got := (guard{tests: tests}).missing("TestA\nTestB\nok  \tpackage\n"); got != missing {
			t.Errorf("%s: %q is missing, want %q", tests, got, missing)
		}
	}
}

// As commits are made, each bug has its turn.
func TestTurnsCoverAllBugs(t *testing.T) {
	seen := map[string]bool{}
	for commits := range len(bugs)/3 + 1 {
		for _, b := range turn(3, commits) {
			seen[b.name] = true
		}
	}
	if len(seen) != len(bugs) {
		t.Errorf("%d of %d", len(seen), len(bugs))
	}
}
