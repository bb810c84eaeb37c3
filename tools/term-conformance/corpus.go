// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"

	"spawn/internal/strictjson"
)

// lineBytesMax is the longest line of a corpus.
const lineBytesMax = 16 << 20

// testCase is one line of a corpus.
type testCase struct {
	Suite string `json:"suite"`
	Name  string `json:"name"`
	Rows  int    `json:"rows"`
	Cols  int    `json:"cols"`
	// History and UnicodeVersion are what the suite itself ran with: lines of history, and the xterm.js
	// provider of its widths. They change nothing here.
	History        int    `json:"sb"`
	UnicodeVersion string `json:"uni"`
	Steps          []step `json:"steps"`
	// Source and Note tell where the case is from and what was decided.
	Source string `json:"source,omitzero"`
	Note   string `json:"note,omitzero"`

	// key is suite/name, with #2 and so on where the corpus has one name twice.
	key string
}

// step has one member, but for the hint clampx beside cursor.
type step struct {
	Feed   *[]byte `json:"feed,omitzero"` // base64
	Text   *string `json:"text,omitzero"` // feed, for streams that are UTF-8
	Resize []int   `json:"resize,omitzero"`
	// Reset begins again with a new terminal of the size in force.
	Reset int `json:"reset,omitzero"`
	expectation
}

// expectation is what a suite wants to see after the steps before it.
type expectation struct {
	Rows []string `json:"rows,omitzero"` // the first rows, blanks at the ends cut
	Row  []any    `json:"row,omitzero"`  // number and text
	// Cursor is row and column; with ClampX a pending wrap counts as the last column.
	Cursor []int `json:"cursor,omitzero"`
	ClampX int   `json:"clampx,omitzero"`
	Cell   []any `json:"cell,omitzero"` // row, column, width, text
	// Attrs maps "row,column" to foreground, background and letters.
	Attrs map[string][]any `json:"attrs,omitzero"`
	// AllRows and AllCells are history and screen; a cell is text, foreground, background and letters.
	AllRows  []string   `json:"allrows,omitzero"`
	AllCells [][][]any  `json:"allcells,omitzero"`
	Reply    *[]byte    `json:"reply,omitzero"` // base64, from the last feed
	History  *string    `json:"history,omitzero"`
	Title    *string    `json:"title,omitzero"`
	Modes    *modeNames `json:"modes,omitzero"`
	Prompts  []string   `json:"prompts,omitzero"` // letters of the prompt marks of the first rows
}

// modeNames maps a mode of the grid state to its value as text.
type modeNames map[string]string

func (e *expectation) empty() bool {
	return e.Rows == nil && e.Row == nil && e.Cursor == nil && e.Cell == nil && e.Attrs == nil && e.AllRows == nil &&
		e.AllCells == nil && e.Reply == nil && e.History == nil && e.Title == nil && e.Modes == nil && e.Prompts == nil
}

// input returns the bytes of a feed.
func (s *step) input() ([]byte, bool) {
	switch {
	case s.Feed != nil:
		return *s.Feed, true
	case s.Text != nil:
		return []byte(*s.Text), true
	}
	return nil, false
}

// readCorpus reads a file of cases, one JSON object a line.
func readCorpus(path string) ([]*testCase, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the corpus: %w", err)
	}
	defer f.Close()
	var cases []*testCase
	seen := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, lineBytesMax)
	for n := 1; lines.Scan(); n++ {
		c := &testCase{}
		if err := strictjson.Unmarshal(lines.Bytes(), c); err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w", path, n, err)
		}
		c.key = c.Suite + "/" + c.Name
		if seen[c.key]++; seen[c.key] > 1 {
			c.key = fmt.Sprintf("%s#%d", c.key, seen[c.key])
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("read %s, line %d, %s: %w", path, n, c.key, err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("read %s: no case in it", path)
	}
	return cases, nil
}

// check refuses a step that would do or want nothing.
func (c *testCase) check() error {
	if c.Suite == "" || c.Name == "" || c.Cols < 1 || c.Rows < 1 {
		return fmt.Errorf("suite, name, rows and cols are needed")
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if _, feeds := s.input(); !feeds && len(s.Resize) != 2 && s.Reset == 0 && s.empty() {
			return fmt.Errorf("step %d says nothing", i)
		}
	}
	return nil
}
