// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"spawn/tools/term-conformance/grid"
)

// unmet names the expectations of a suite that our emulator doesn't meet.
func (c *testCase) unmet() []string {
	out, _ := c.unmetSteps()
	return out
}

// unmetSteps returns also which steps hold them.
func (c *testCase) unmetSteps() (out []string, steps []int) {
	t := newTerminal(c.Cols, c.Rows)
	answered := 0 // how much of the replies was wanted already
	for i := range c.Steps {
		s := &c.Steps[i]
		if p, feeds := s.input(); feeds {
			answered = t.replies.Len()
			t.Feed(p)
		} else if s.Resize != nil {
			t.Resize(s.Resize[1], s.Resize[0])
		} else if s.Reset != 0 {
			cols, rows := t.Size()
			t, answered = newTerminal(cols, rows), 0
		}
		found := s.unmetReply(t.replies.Bytes()[answered:])
		if s.Reply != nil {
			answered = min(answered+len(*s.Reply), t.replies.Len())
		}
		if !s.empty() {
			found = append(found, s.expectation.unmet(grid.FromState(t.State()), t)...)
		}
		for _, d := range found {
			out = append(out, fmt.Sprintf("step %d: %s", i, d))
		}
		if len(found) > 0 {
			steps = append(steps, i)
		}
	}
	return out, steps
}

// unmetReply compares what was answered and not wanted yet. An empty reply wants silence.
func (e *expectation) unmetReply(got []byte) []string {
	if e.Reply == nil || len(*e.Reply) > 0 && bytes.HasPrefix(got, *e.Reply) || len(*e.Reply)+len(got) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("reply %q, not %q", got, *e.Reply)}
}

// unmet compares all but replies.
func (e *expectation) unmet(g *grid.Grid, t *terminal) []string {
	var out []string
	want := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			out = append(out, fmt.Sprintf("%s %v, not %v", what, quoted(got), quoted(want)))
		}
	}
	rows := e.Rows
	if n := len(e.AllRows) - g.Rows; n >= 0 && e.AllRows != nil {
		rows = e.AllRows[n:]
	}
	for y, text := range rows {
		if got := rowText(g, y); !grid.Equivalent(got, strings.TrimRight(text, " ")) {
			want(fmt.Sprintf("row %d is", y), got, text)
		}
	}
	if len(e.Row) == 2 {
		y, _ := number(e.Row[0])
		want(fmt.Sprintf("row %d is", y), rowText(g, y), e.Row[1])
	}
	if e.Cursor != nil {
		want("the cursor is at", e.cursorOf(g), e.Cursor)
	}
	if len(e.Cell) == 4 {
		want("the cell is", cellFacts(g, e.Cell), cellWanted(e.Cell))
	}
	for at, look := range e.Attrs {
		var y, x int
		fmt.Sscanf(at, "%d,%d", &y, &x)
		want("cell "+at+" looks", lookText(cellIn(g, y, x)), lookOf(look))
	}
	out = append(out, e.unmetCells(g)...)
	if e.History != nil {
		want("history is", plainHistory(t.history.String()), *e.History)
	}
	if e.Title != nil {
		want("the title is", t.Title(), *e.Title)
	}
	for y, letters := range e.Prompts {
		want(fmt.Sprintf("the prompt marks of row %d are", y), *g.Lines[y].Prompt, letters)
	}
	if e.Modes != nil {
		out = append(out, unmetModes(g.Modes, *e.Modes)...)
	}
	return out
}

// unmetCells compares allcells, whose last rows are the screen.
func (e *expectation) unmetCells(g *grid.Grid) []string {
	n := len(e.AllCells) - g.Rows
	if e.AllCells == nil || n < 0 {
		return nil
	}
	for y, row := range e.AllCells[n:] {
		for x, want := range row {
			c := cellIn(g, y, x)
			got := strings.TrimSpace(c.Text) + " " + lookText(c)
			text, _ := want[0].(string)
			if w := strings.TrimSpace(text) + " " + lookOf(want[1:]); got != w {
				return []string{fmt.Sprintf("cell %d,%d is %q, not %q", y, x, got, w)}
			}
		}
	}
	return nil
}

func quoted(v any) any {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return v
}

func number(v any) (int, bool) {
	f, ok := v.(float64)
	return int(f), ok
}

func (e *expectation) cursorOf(g *grid.Grid) []int {
	x := g.Cursor.Col
	if e.ClampX == 0 && *g.Cursor.PendingWrap {
		x++
	}
	return []int{g.Cursor.Row, x}
}

// cellIn returns a cell of a state of ours, which leaves nothing unknown.
func cellIn(g *grid.Grid, y, x int) grid.Cell {
	if y < len(g.Lines) && x < len(g.Lines[y].Cells) {
		return *g.Lines[y].Cells[x]
	}
	return grid.Cell{}
}

// cellWanted describes the cell that a suite wants.
func cellWanted(want []any) string {
	y, _ := number(want[0])
	x, _ := number(want[1])
	w, _ := number(want[2])
	return fmt.Sprintf("%d,%d w%d %v", y, x, w, want[3])
}

// What a cell's text can say instead of a text: nothing, and that it is the right half of a wide
// character, which its suite counts as one column.
const (
	anyText   = ".*"
	rightHalf = "!"
)

// cellFacts describes the cell that is there.
func cellFacts(g *grid.Grid, want []any) string {
	y, _ := number(want[0])
	x, _ := number(want[1])
	c := cellIn(g, y, x)
	text, width := c.Text, c.Width.Columns()
	switch {
	case want[3] == rightHalf && width == 0:
		text, width = rightHalf, 1
	case want[3] == anyText:
		text = anyText
	case want[3] == " " && text == "":
		text = " "
	}
	return fmt.Sprintf("%d,%d w%d %s", y, x, width, text)
}

// rowText returns the text of a row without the blanks at its end.
func rowText(g *grid.Grid, y int) string {
	if y >= len(g.Lines) {
		return ""
	}
	var out strings.Builder
	for _, c := range g.Lines[y].Cells {
		switch {
		case c.Text != "":
			out.WriteString(c.Text)
		case c.Width.Columns() > 0:
			out.WriteByte(' ')
		}
	}
	return strings.TrimRight(out.String(), " ")
}

// lookText describes a cell as the suites do: colours, -1 for the default ones, and letters.
func lookText(c grid.Cell) string {
	letters := ""
	for _, l := range []struct {
		letter string
		on     bool
	}{{"7", c.Inverse}, {"b", c.Bold}, {"d", c.Dim}, {"i", c.Italic}, {"s", c.Strike}, {"u", c.Underline != ""}} {
		if l.on {
			letters += l.letter
		}
	}
	return fmt.Sprintf("%s %s %s", orMinusOne(c.Fg), orMinusOne(c.Bg), letters)
}

func orMinusOne(c grid.Color) string {
	if c == "" {
		return "-1"
	}
	return string(c)
}

// lookOf describes what a suite wants in the same words.
func lookOf(want []any) string {
	part := func(v any) string {
		if n, ok := number(v); ok {
			return strconv.Itoa(n)
		}
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%s %s %s", part(want[0]), part(want[1]), part(want[2]))
}

// unmetModes compares modes by their names in the grid state.
func unmetModes(m *grid.Modes, want modeNames) []string {
	var out []string
	known := 0
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		w, ok := want[name]
		if !ok {
			continue
		}
		known++
		if got := fmt.Sprint(v.Field(i).Elem().Interface()); got != w {
			out = append(out, fmt.Sprintf("mode %s is %s, not %s", name, got, w))
		}
	}
	if known < len(want) {
		out = append(out, fmt.Sprintf("one of the modes in %v is unknown", want))
	}
	return out
}
