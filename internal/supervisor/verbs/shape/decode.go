// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"spawn/internal/strictjson"
)

// Fault is what is wrong with one member of what was sent.
type Fault struct {
	Param string // its path, such as resume.stream; "" for the whole
	Says  string // what would be right, beginning with a verb; it never quotes the value
	Code  string // the tag fault, "" without
}

func (f *Fault) Error() string {
	if f.Param == "" {
		return "what was sent " + f.Says
	}
	return f.Param + " " + f.Says
}

// raw is a JSON value that is decoded later.
type raw []byte

// UnmarshalJSON keeps the value, whose bytes the decoder reuses.
func (r *raw) UnmarshalJSON(value []byte) error {
	*r = slices.Clone(value)
	return nil
}

// Decode reads the object src into dst, a pointer to the struct that s was read of, and holds every member
// to its tags. The error is a *Fault. dst is of use only without one.
func (s Struct) Decode(src []byte, dst any) error {
	if err := s.decode("", src, reflect.ValueOf(dst).Elem()); err != nil {
		return err
	}
	return nil
}

func (s Struct) decode(path string, src []byte, dst reflect.Value) *Fault {
	var members map[string]raw
	if err := strictjson.Unmarshal(src, &members); err != nil {
		return &Fault{Param: path, Says: "is not a JSON object with each of its members once"}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(s.Members, func(m Member) bool { return m.Name == name }) {
			return &Fault{Param: path, Says: "has a member " + strconv.QuoteToASCII(clipped(name)) + " that is not known here"}
		}
	}
	for _, m := range s.Members {
		value, there := members[m.Name]
		switch {
		case !there && !m.Optional:
			return &Fault{Param: joined(path, m.Name), Says: "is missing"}
		case there:
			if f := m.decode(joined(path, m.Name), value, dst.Field(m.index)); f != nil {
				return f
			}
		}
	}
	return nil
}

const nameShownMax = 64 // bytes of a stranger's member name that a fault repeats

func clipped(name string) string { return name[:min(len(name), nameShownMax)] }

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (m Member) decode(path string, src raw, dst reflect.Value) *Fault {
	switch {
	case m.Kind == Record:
		return m.Of.decode(path, src, dst)
	case m.Kind == List && m.Elem == Record:
		return m.decodeRecords(path, src, dst)
	case m.Kind == Decimal:
		return m.decodeDecimal(path, src, dst)
	}
	if err := strictjson.Unmarshal(src, dst.Addr().Interface()); err != nil {
		return m.fault(path)
	}
	return m.check(path, dst)
}

// decodeDecimal takes the one way to write a number: no sign, no zero in front.
func (m Member) decodeDecimal(path string, src raw, dst reflect.Value) *Fault {
	var digits string
	err := strictjson.Unmarshal(src, &digits)
	n, bad := strconv.ParseUint(digits, 10, 64)
	if err != nil || bad != nil || strconv.FormatUint(n, 10) != digits {
		return &Fault{Param: path, Says: "is a text of decimal digits", Code: m.Fault}
	}
	dst.SetUint(n)
	return nil
}

func (m Member) decodeRecords(path string, src raw, dst reflect.Value) *Fault {
	var elements []raw
	if strictjson.Unmarshal(src, &elements) != nil {
		return m.fault(path)
	}
	if m.outside(int64(len(elements))) { // before anything is made of them
		return m.fault(path)
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(elements), len(elements)))
	for i, element := range elements {
		if f := m.Of.decode(path+"."+strconv.Itoa(i), element, dst.Index(i)); f != nil {
			return f
		}
	}
	return nil
}

func (m Member) check(path string, v reflect.Value) *Fault {
	bad := false
	switch m.Kind {
	case Text:
		text := v.String()
		bad = m.outside(int64(len(text))) || len(m.Enum) > 0 && !slices.Contains(m.Enum, text) ||
			m.Form != "" && !forms[m.Form].pattern.MatchString(text)
	case List:
		bad = m.outside(int64(v.Len()))
	case Whole:
		bad = !v.CanInt() && v.Uint() > exactMax || m.outside(whole(v))
	}
	if bad {
		return m.fault(path)
	}
	return nil
}

func whole(v reflect.Value) int64 {
	if v.CanInt() {
		return v.Int()
	}
	return int64(v.Uint())
}

func (m Member) outside(n int64) bool {
	return m.Min != nil && n < *m.Min || m.Max != nil && n > *m.Max
}

// fault says what the member has to be. A value of another type breaks the same rule.
func (m Member) fault(path string) *Fault {
	says := "is " + m.Kind.noun()
	if m.Kind == List {
		says += " of " + m.Elem.plural()
	}
	if limits := m.Limits(); limits != "" {
		says += ", " + limits
	}
	return &Fault{Param: path, Says: says, Code: m.Fault}
}

func (k Kind) plural() string {
	return map[Kind]string{Text: "texts", Whole: "whole numbers", Record: "objects"}[k]
}

func (k Kind) noun() string {
	return [...]string{"nothing", "a text", "a whole number", "a text of digits", "true or false", "a list", "an object"}[k]
}
