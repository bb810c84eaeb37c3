// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"
	"reflect"
	"strings"
)

// Diff names what differs between two states, in the order of the form. It is empty when they agree.
//
// Null equals everything, texts are equal when they are canonically equivalent, a cursor beyond the
// last column counts as in it, and rows go on with untouched cells.
func Diff(a, b *Grid) []string {
	d := &differ{}
	if a.Cols != b.Cols || a.Rows != b.Rows {
		d.note("size", fmt.Sprintf("%dx%d", a.Cols, a.Rows), fmt.Sprintf("%dx%d", b.Cols, b.Rows))
		return d.found
	}
	d.lines(a.Lines, b.Lines)
	d.cursor(a, b)
	x, y := *a, *b
	for _, g := range []*Grid{&x, &y} {
		g.Schema, g.Producer, g.Suite, g.Name, g.Lines, g.Cursor = 0, "", "", "", nil, nil
	}
	d.value("", reflect.ValueOf(x), reflect.ValueOf(y))
	return d.found
}

type differ struct{ found []string }

func (d *differ) note(path string, a, b any) {
	d.found = append(d.found, fmt.Sprintf("%s: %s, not %s", path, show(a), show(b)))
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%+v", v)
}

func (d *differ) lines(a, b []*Line) {
	for y := range max(len(a), len(b)) {
		p, q := lineAt(a, y), lineAt(b, y)
		if p == nil || q == nil {
			continue
		}
		for x := range max(len(p.Cells), len(q.Cells)) {
			s, r := cellAt(p, x), cellAt(q, x)
			if s != nil && r != nil && !sameCell(*s, *r) {
				d.note(fmt.Sprintf("cell %d,%d", y, x), cellText(*s), cellText(*r))
			}
		}
		d.value(fmt.Sprintf("line %d wrapped", y), reflect.ValueOf(p.Wrapped), reflect.ValueOf(q.Wrapped))
		d.value(fmt.Sprintf("line %d prompt", y), reflect.ValueOf(p.Prompt), reflect.ValueOf(q.Prompt))
	}
}

var (
	untouchedLine = &Line{}
	untouchedCell = &Cell{}
)

func lineAt(lines []*Line, y int) *Line {
	if y < len(lines) {
		return lines[y]
	}
	return untouchedLine
}

func cellAt(l *Line, x int) *Cell {
	if x < len(l.Cells) {
		return l.Cells[x]
	}
	return untouchedCell
}

func sameCell(a, b Cell) bool {
	if !SameLink(a.Link, b.Link) || !Equivalent(a.Text, b.Text) {
		return false
	}
	a.Link, b.Link, a.Text, b.Text = "", "", "", ""
	return a == b
}

// SameLink reports whether two links are equal as far as both are known.
func SameLink(a, b Link) bool {
	return a == b || a == LinkUnknown && b != "" || b == LinkUnknown && a != ""
}

// cellText describes a cell on one line.
func cellText(c Cell) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s w%d", c.Text, c.Width.Columns())
	v := reflect.ValueOf(c.Style)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fmt.Fprintf(&out, " %s=%v", fieldName(v.Type().Field(i)), f.Interface())
		}
	}
	return out.String()
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func (d *differ) cursor(a, b *Grid) {
	if a.Cursor == nil || b.Cursor == nil {
		return
	}
	p, q := *a.Cursor, *b.Cursor
	p.Col, q.Col = min(p.Col, a.Cols-1), min(q.Col, b.Cols-1)
	d.value("cursor", reflect.ValueOf(p), reflect.ValueOf(q))
}

// value compares two values of one type and descends into what has parts.
func (d *differ) value(path string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			d.value(path, a.Elem(), b.Elem())
		}
	case reflect.Struct:
		for i := range a.NumField() {
			d.value(strings.TrimSpace(path+" "+fieldName(a.Type().Field(i))), a.Field(i), b.Field(i))
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			d.note(path, a.Interface(), b.Interface())
			return
		}
		for i := range a.Len() {
			d.value(fmt.Sprintf("%s %d", path, i), a.Index(i), b.Index(i))
		}
	case reflect.String:
		if p, q := a.String(), b.String(); p != q && !d.sameText(a, p, q) {
			d.note(path, p, q)
		}
	default:
		if !a.Equal(b) {
			d.note(path, a.Interface(), b.Interface())
		}
	}
}

// sameText compares two unequal texts by the rule of their type.
func (d *differ) sameText(v reflect.Value, a, b string) bool {
	if v.Type() == reflect.TypeFor[Link]() {
		return SameLink(Link(a), Link(b))
	}
	return Equivalent(a, b)
}
