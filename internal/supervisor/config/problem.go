// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// problemsMax bounds how many faults of one file are told: nobody reads more, and a hostile file could
// have one in every second byte.
const problemsMax = 64

// shownMax is how many bytes of a name from the file a message repeats.
const shownMax = 64

// Problem is one fault of a settings file. It never holds a value from the file.
type Problem struct {
	Path    string `json:"path"`   // of the key, or of what stands in its place; "" for the whole file
	Line    int    `json:"line"`   // from 1; 0 when the fault is of no place
	Column  int    `json:"column"` // in characters, from 1
	Message string `json:"message"`
}

func (p Problem) String() string {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Line > 0 {
		text = fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, text)
	}
	return text
}

// Problems are the faults of one file, in the order of their places. It is an error when there are any.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "; ")
}

// finding gathers the faults of one source.
type finding struct {
	src      []byte
	problems Problems
}

func (f *finding) at(offset int, path, format string, a ...any) {
	if len(f.problems) == problemsMax {
		return
	}
	line, column := place(f.src, offset)
	f.problems = append(f.problems, Problem{Path: path, Line: line, Column: column, Message: fmt.Sprintf(format, a...)})
}

// err is nil when nothing was found.
func (f *finding) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	return f.problems
}

// place counts lines and characters up to the offset.
func place(src []byte, offset int) (line, column int) {
	before := string(src[:min(max(offset, 0), len(src))])
	last := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[last:])
}

// shown makes a name from the file fit for a message.
func shown(name string) string {
	if len(name) > shownMax {
		name = name[:shownMax] + "…"
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.' {
			return strconv.QuoteToGraphic(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}
