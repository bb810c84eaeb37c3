// SPDX-License-Identifier: Apache-2.0

// Package shape reads what the tags of a struct say of its members, and holds what strangers send to it.
// Dispatch, flags, documents, JSON Schema and TypeScript read the same tags, so they cannot disagree.
//
//	json:"cols,omitzero"  the member's name; with omitzero it may be left out
//	help:"…"              one line for people
//	min:"1" max:"1000"    bounds of a number, of a text's bytes, of a list's length
//	enum:"rows,cols"      the texts that are allowed
//	like:"pane"           the form of a text: see Form
//	fault:"invalid.size"  the code of the error when a bound is broken; without, the caller's own
//	cli:"rest"            a list that stands after -- on the command line
//	text:"terminal"       holds what a terminal shows, so whoever gets it must have the right to read there
package shape

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Kind is how a member is written.
type Kind uint8

const (
	Text    Kind = 1
	Whole   Kind = 2 // a whole number that a double holds exactly
	Decimal Kind = 3 // a whole number of 64 bits, as a text of digits: scripts could not hold it exactly
	Flag    Kind = 4
	List    Kind = 5
	Record  Kind = 6
)

// Struct is one type of parameters, results or what they are made of.
type Struct struct {
	Name    string
	Members []Member
}

// Member is one member of a Struct. Its zero bounds are none.
type Member struct {
	Name     string
	Kind     Kind
	Help     string
	Optional bool
	Null     bool // null says that it is not known; in results alone
	Min, Max *int64
	Enum     []string
	Form     string // a key of forms, "" for any text
	Fault    string
	Rest     bool
	Terminal bool
	Of       *Struct // of a Record, or of a List of them
	Elem     Kind    // of a List

	index int
}

// Of reads the struct type of v. A tag that makes no sense panics: it is a mistake in our own source.
func Of(v any) Struct { return of(reflect.TypeOf(v)) }

func of(t reflect.Type) Struct {
	s := Struct{Name: t.Name()}
	for i := range t.NumField() {
		s.Members = append(s.Members, member(t, i))
	}
	return s
}

func member(in reflect.Type, i int) Member {
	f := in.Field(i)
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	given := strings.Split(options, ",")
	m := Member{
		Name: name, Help: f.Tag.Get("help"), Form: f.Tag.Get("like"), Fault: f.Tag.Get("fault"),
		Optional: slices.Contains(given, "omitzero"), Rest: f.Tag.Get("cli") == "rest",
		Terminal: f.Tag.Get("text") == "terminal", index: i,
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		m.Enum = strings.Split(enum, ",")
	}
	m.describe(f.Type, slices.Contains(given, "string"))
	m.Min, m.Max = bound(in, f, "min", m.Min), bound(in, f, "max", m.Max)
	if _, known := forms[m.Form]; name == "" || m.Help == "" || m.Form != "" && !known {
		panic(fmt.Sprintf("shape: internal error: %s.%s lacks its name, its help or its form", in, f.Name))
	}
	return m
}

// describe sets what the Go type says.
func (m *Member) describe(t reflect.Type, decimal bool) {
	if t.Kind() == reflect.Pointer {
		m.Null, t = true, t.Elem()
	}
	m.Kind = kindOf(t)
	switch {
	case decimal:
		m.Kind = Decimal
	case m.Kind == Whole:
		m.Min, m.Max = natural(t)
	case m.Kind == Record:
		inner := of(t)
		m.Of = &inner
	case m.Kind == List:
		if m.Elem = kindOf(t.Elem()); m.Elem == Record {
			inner := of(t.Elem())
			m.Of = &inner
		}
	}
}

func kindOf(t reflect.Type) Kind {
	switch t.Kind() {
	case reflect.String:
		return Text
	case reflect.Bool:
		return Flag
	case reflect.Slice:
		return List
	case reflect.Struct:
		return Record
	case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Whole
	}
	panic(fmt.Sprintf("shape: internal error: no member can be a %s", t))
}

// exactMax is the largest whole number that every reader of JSON holds exactly: 2^53-1 (RFC 8259, section 6).
const exactMax = 1<<53 - 1

// natural are the bounds of a number's Go type.
func natural(t reflect.Type) (least, most *int64) {
	lo, hi := int64(0), int64(exactMax)
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		lo = -exactMax
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		hi = 1<<t.Bits() - 1
	}
	return &lo, &hi
}

func bound(in reflect.Type, f reflect.StructField, tag string, otherwise *int64) *int64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("shape: internal error: %s.%s: %v", in, f.Name, err))
	}
	return &n
}

// Limits says in words what the member may be, "" when its kind says all.
func (m Member) Limits() string {
	switch {
	case m.Form != "":
		return forms[m.Form].says
	case len(m.Enum) > 0:
		return "one of " + strings.Join(m.Enum, ", ")
	case m.Max == nil || m.Kind == Whole && *m.Max == exactMax:
		return m.least()
	case m.Min == nil || m.Kind != Whole && *m.Min == 0:
		return fmt.Sprintf("at most %d%s", *m.Max, m.unit())
	}
	return fmt.Sprintf("between %d and %d%s", *m.Min, *m.Max, m.unit())
}

// least is Limits without an upper bound.
func (m Member) least() string {
	switch {
	case m.Min == nil || m.Kind == Whole && *m.Min == -exactMax:
		return ""
	case m.Kind == Whole && *m.Min == 0:
		return "not negative"
	}
	return fmt.Sprintf("at least %d%s", *m.Min, m.unit())
}

// unit is what the bounds count.
func (m Member) unit() string {
	return map[Kind]string{Text: " bytes", List: " elements"}[m.Kind]
}

// ShowsTerminal reports whether a value of the struct holds what a terminal shows.
func (s Struct) ShowsTerminal() bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool {
		return m.Terminal || m.Of != nil && m.Of.ShowsTerminal()
	})
}
