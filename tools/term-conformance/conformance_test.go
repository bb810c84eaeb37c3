// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spawn/internal/unmet"
	"spawn/tools/term-conformance/grid"
)

// repository is the root of the repository, seen from here.
const repository = "../.."

var ownCorpus = filepath.Join("testdata", "own.jsonl")

// absent skips a test that lacks something.
func absent(t *testing.T, what string, err error) {
	t.Helper()
	unmet.Skip(t, "%s is absent: %v", what, err)
}

func corpus(t *testing.T, path string) []*testCase {
	t.Helper()
	cases, err := readCorpus(path)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func explained(t *testing.T) explanations {
	t.Helper()
	e, err := readExplained("explained.json")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sharedCorpus is the file of cases from public suites, in $SPAWN_CORPUS or beside the repository. They are other projects'
// and no part of it, so who has none lacks nothing that the system has to have.
func sharedCorpus(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("SPAWN_CORPUS"); dir != "" {
		return filepath.Join(dir, "cases.jsonl")
	}
	path := filepath.Join(repository, "..", "shared", "corpus", "cases.jsonl")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("no cases of public suites: SPAWN_CORPUS names no folder, and %s is not there", path)
	}
	return path
}

// judge fails on what makes a run of the command fail, and on figures that the document doesn't tell.
func judge(t *testing.T, verdicts []verdict) {
	t.Helper()
	r := newReport(verdicts, explained(t), true)
	var out strings.Builder
	r.print(&out)
	t.Logf("\n%s", out.String())
	if r.failed() {
		t.Error("a difference is unexplained, or an explanation is out of date")
	}
	document, err := os.ReadFile(filepath.Join(repository, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(r.table()) {
		if !strings.Contains(string(document), line) {
			t.Errorf("docs/conformance.md lacks the row %s", line)
		}
	}
}

var (
	localChecks  = map[string]bool{checkSplit: true, checkRefeed: true, checkSuite: true}
	oracleChecks = map[string]bool{checkOracle: true, checkRepaint: true, checkWitness: true}
)

func runLocal(t *testing.T, path string) {
	cases := corpus(t, path)
	judge(t, local(cases, localChecks))
}

func runWithOracle(t *testing.T, path string) {
	cases := corpus(t, path)
	verdicts, err := withOracle(t.Context(), repository, cases, oracleChecks)
	if errors.Is(err, errNoOracle) {
		absent(t, "the oracle", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	judge(t, verdicts)
}

func TestOwnCorpus(t *testing.T)              { runLocal(t, ownCorpus) }
func TestOwnCorpusWithOracle(t *testing.T)    { runWithOracle(t, ownCorpus) }
func TestSharedCorpus(t *testing.T)           { runLocal(t, sharedCorpus(t)) }
func TestSharedCorpusWithOracle(t *testing.T) { runWithOracle(t, sharedCorpus(t)) }

// Each case of our own is a test that can be run by its name.
func TestOwnCases(t *testing.T) {
	const casesMin = 60
	cases := corpus(t, ownCorpus)
	if len(cases) < casesMin {
		t.Errorf("the corpus has %d cases, want at least %d", len(cases), casesMin)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if !c.wants() {
				t.Error("the case expects nothing")
			}
			for _, d := range c.unmet() {
				t.Error(d)
			}
			for _, d := range slices.Concat(c.splits(), c.refeeds()) {
				t.Error(d)
			}
			if t.Failed() {
				t.Log(c.Note)
			}
		})
	}
}

// The document tells of every explained difference.
func TestEveryExplanationIsInTheDocument(t *testing.T) {
	document, err := os.ReadFile(filepath.Join(repository, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for key, e := range explained(t) {
		if _, name, _ := strings.Cut(key[1], "/"); !strings.Contains(string(document), name) || !strings.Contains(string(document), e.Why) {
			t.Errorf("docs/conformance.md doesn't tell of %s or why it differs", key[1])
		}
	}
}

// A difference fails a run, an explanation lets it pass, and one that isn't needed fails it again.
func TestReport(t *testing.T) {
	c := &testCase{Suite: "s", Name: "n", key: "s/n"}
	e := explanations{{checkSuite, "s/n"}: {Check: checkSuite, Agrees: "x", Why: "y", Cases: []string{"s/n"}}}
	differs := []verdict{{checkSuite, c, []string{"something"}}}
	agrees := []verdict{{checkSuite, c, nil}}
	other := []verdict{{checkSuite, &testCase{Suite: "s", Name: "m", key: "s/m"}, nil}}
	for _, tt := range []struct {
		name      string
		verdicts  []verdict
		explained explanations
		whole     bool
		want      bool
	}{
		{"agrees", agrees, nil, true, false},
		{"differs", differs, nil, true, true},
		{"explained", differs, e, true, false},
		{"explained but agrees", agrees, e, true, true},
		{"explained but gone", other, e, true, true},
		{"explained but filtered out", other, e, false, false},
		{"explained for another check", []verdict{{checkOracle, c, []string{"something"}}}, e, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := newReport(tt.verdicts, tt.explained, tt.whole).failed(); got != tt.want {
				t.Errorf("failed is %v, want %v", got, tt.want)
			}
		})
	}
}

// The checks see what is wrong: each of these cases expects what isn't so.
func TestUnmetExpectationsAreFound(t *testing.T) {
	text := "\x1b[31mab\r\n\x1b[?1h\x1b[c"
	wrong := map[string]expectation{
		"rows":     {Rows: []string{"ax"}},
		"row":      {Row: []any{0.0, "x"}},
		"cursor":   {Cursor: []int{0, 0}},
		"cell":     {Cell: []any{0.0, 0.0, 2.0, "a"}},
		"attrs":    {Attrs: map[string][]any{"0,0": {2.0, -1.0, ""}}},
		"allrows":  {AllRows: []string{"ab", "x"}},
		"allcells": {AllCells: [][][]any{{{"a", 1.0, -1.0, "b"}}, {}}},
		"reply":    {Reply: new([]byte("x"))},
		"silence":  {Reply: new([]byte{})},
		"history":  {History: new("x")},
		"title":    {Title: new("x")},
		"modes":    {Modes: &modeNames{"cursor_keys": "false"}},
		"no mode":  {Modes: &modeNames{"cursor_kys": "true"}},
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		c := &testCase{Suite: "s", Name: name, Cols: 5, Rows: 2, Steps: []step{{Text: &text}, {expectation: wrong[name]}}}
		if len(c.unmet()) != 1 {
			t.Errorf("%s: found %q, want one", name, c.unmet())
		}
	}
}

func TestPlainHistory(t *testing.T) {
	term := newTerminal(9, 1)
	term.Feed([]byte("\x1b[1;31ma\x1b]8;;http://m/x\x1b\\b\x1b]8;;\x1b\\\x1b[1\"qc\x1b[m\r\n\r\n"))
	if got := plainHistory(term.history.String()); got != "abc\r\n\r\n" {
		t.Errorf("it is %q", got)
	}
}

// The command's whole way: run, dump, compare the dump with itself.
func TestCommand(t *testing.T) {
	var out, errs strings.Builder
	args := []string{"--root", repository, "--corpus", ownCorpus}
	if code := run(t.Context(), append(args, "--suite"), &out, &errs); code != 0 || !strings.Contains(out.String(), "| own") {
		t.Fatalf("it ends with %d: %s%s", code, out.String(), errs.String())
	}
	out.Reset()
	if code := run(t.Context(), append(args, "--dump"), &out, &errs); code != 0 {
		t.Fatalf("--dump ends with %d: %s", code, errs.String())
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	other := path + ".other"
	if err := errors.Join(os.WriteFile(path, []byte(out.String()), 0o600), os.WriteFile(other, []byte(strings.Replace(out.String(), `"row":0`, `"row":1`, 1)), 0o600)); err != nil {
		t.Fatal(err)
	}
	states, err := readGrids(path)
	if err != nil || len(states) != len(corpus(t, ownCorpus)) {
		t.Fatalf("the dump has %d states: %v", len(states), err)
	}
	if states[0].Producer != grid.Ours {
		t.Errorf("the producer is %q", states[0].Producer)
	}
	if code := run(t.Context(), []string{"--diff", path, path}, &out, &errs); code != 0 {
		t.Errorf("a dump differs from itself: %d", code)
	}
	if code := run(t.Context(), []string{"--diff", path, other}, &out, &errs); code != exitDiffers {
		t.Errorf("--diff of different dumps ends with %d", code)
	}
	if code := run(t.Context(), []string{"--corpus", "absent.jsonl"}, &out, &errs); code != exitBroken {
		t.Errorf("an absent corpus ends with %d", code)
	}
}
