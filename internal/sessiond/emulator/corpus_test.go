// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// corpusCase is one case of the shared corpus, in pieces between its resets.
type corpusCase struct {
	suite, name string
	requests    []oracleRequest
}

// readCorpus reads the cases of public suites in $SPAWN_CORPUS, or from beside the repository. They are other projects' and no
// part of it, so who has none lacks nothing that the system has to have.
func readCorpus(t *testing.T) []corpusCase {
	t.Helper()
	dir := os.Getenv("SPAWN_CORPUS")
	given := dir != ""
	if !given {
		dir = filepath.Join(repository(t), "..", "shared", "corpus")
	}
	f, err := os.Open(filepath.Join(dir, "cases.jsonl"))
	if !given && errors.Is(err, os.ErrNotExist) {
		t.Skipf("no cases of public suites: SPAWN_CORPUS names no folder, and %s is not there", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []corpusCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c struct {
			Suite, Name string
			Rows, Cols  int
			Steps       []struct {
				Feed   []byte
				Reset  int
				Resize []int
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("read a case: %v", err)
		}
		out := corpusCase{suite: c.Suite, name: c.Name}
		q := oracleRequest{Cols: c.Cols, Rows: c.Rows, Chunks: []oracleChunk{}}
		for _, s := range c.Steps {
			switch {
			case s.Feed != nil:
				q.Chunks = append(q.Chunks, oracleChunk{feed: s.Feed})
			case len(s.Resize) == 2:
				q.Chunks = append(q.Chunks, oracleChunk{resize: &[2]int{s.Resize[1], s.Resize[0]}})
			case s.Reset != 0 && len(q.Chunks) > 0:
				out.requests = append(out.requests, q)
				q.Chunks = []oracleChunk{}
			}
		}
		out.requests = append(out.requests, q)
		cases = append(cases, out)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestCorpusAgreesWithXterm(t *testing.T) {
	t.Parallel()
	var names []string
	var requests []oracleRequest
	for _, c := range readCorpus(t) {
		for _, q := range c.requests {
			names = append(names, c.suite+" "+c.name)
			requests = append(requests, q)
		}
	}
	screen, repaint := agreement(t, names, requests)
	screen.report(t, "screen and registers", screenCorpusMin, 0)
	repaint.report(t, "xterm.js fed with the repaint", repaintCorpusMin, 0)
}
