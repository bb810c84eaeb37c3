// SPDX-License-Identifier: Apache-2.0

package chance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// kept is one line of testdata/kept.txt: a seed with which a test once failed, or nearly would have.
type kept struct {
	folder, test string
	seed         uint64
}

// keptSeeds reads lines of a folder, a test, a seed and, behind a #, what there was to see.
func keptSeeds(text string) (all []kept, err error) {
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("line %d is no folder, test and seed", n+1)
		}
		k := kept{folder: words[0], test: words[1]}
		if k.seed, err = strconv.ParseUint(words[2], 10, 64); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		all = append(all, k)
	}
	return all, nil
}

// replay runs the test with its seed. That there is no such test, or that it draws nothing, is a failure too: then the seed would be
// kept in vain.
func (k kept) replay(root string) error {
	cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^"+k.test+"$", "./"+k.folder)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), seedVariable+"="+strconv.FormatUint(k.seed, 10))
	said, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		return fmt.Errorf("%w\n%s", err, said)
	case bytes.Contains(said, []byte("no tests to run")):
		return fmt.Errorf("%s has no %s", k.folder, k.test)
	case !bytes.Contains(said, fmt.Appendf(nil, "%s=%d ", seedVariable, k.seed)):
		return fmt.Errorf("%s of %s draws no seed", k.test, k.folder)
	}
	return nil
}

// Whatever failed once by chance is tried again, for ever.
func TestKeptSeeds(t *testing.T) {
	text, err := os.ReadFile("testdata/kept.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := keptSeeds(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		t.Run(fmt.Sprintf("%s/%s/%d", k.folder, k.test, k.seed), func(t *testing.T) {
			if err := k.replay("../.."); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is drawn must be what was kept, and what fails with it must be heard of.
func TestReplayIsNotInVain(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module played\n",
		"a/a_test.go": `package a
import ("os"; "testing")
func TestDraws(t *testing.T) {
	t.Logf("SPAWN_SEED=%s is drawn", os.Getenv("SPAWN_SEED"))
	if os.Getenv("SPAWN_SEED") == "13" { t.Error("as it did") }
}
func TestDrawsNothing(*testing.T) {}
`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for k, complaint := range map[kept]string{
		{"a", "TestDraws", 7}:        "",
		{"a", "TestDraws", 13}:       "as it did",
		{"a", "TestDrawsNothing", 7}: "draws no seed",
		{"a", "TestAbsent", 7}:       "has no TestAbsent",
	} {
		err := k.replay(root)
		if complaint == "" && err != nil || complaint != "" && (err == nil || !strings.Contains(err.Error(), complaint)) {
			t.Errorf("%v: %v, want %q", k, err, complaint)
		}
	}
}

func TestKeptSeedsAreReadStrictly(t *testing.T) {
	all, err := keptSeeds("# why\n\ninternal/a TestA 18446744073709551615 # seen\n")
	if err != nil || len(all) != 1 || all[0] != (kept{"internal/a", "TestA", 1<<64 - 1}) {
		t.Errorf("%v, %v", all, err)
	}
	for _, text := range []string{"internal/a TestA", "internal/a TestA one", "internal/a TestA -1", "internal/a TestA 1 2"} {
		if all, err := keptSeeds(text); err == nil {
			t.Errorf("%q is read as %v", text, all)
		}
	}
}
