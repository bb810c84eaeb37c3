// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"cmp"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"spawn/internal/strictjson"
)

// ErrUnknownKey means that there is no key of that path.
var ErrUnknownKey = errors.New("no such key")

// newFile is what Set writes into where there was no file.
const newFile = `// Settings of spawnd. "spawnd config schema" and docs/config.md list every key.
{
}
`

// Edit returns the settings with one key set, everything else as it was: comments, order, white space. The
// value is written as JSON, or, for a text, as it is. src must be without faults, or empty. Errors:
// ErrUnknownKey, or Problems of src or of the value.
func Edit(src []byte, path, value string) ([]byte, error) {
	k, ok := Lookup(path)
	if !ok {
		return nil, ErrUnknownKey
	}
	literal, err := k.literal(value)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(src)) == 0 {
		src = []byte(newFile)
	}
	doc, err := parseDocument(src)
	if err != nil {
		return nil, err
	}
	root := doc.tree.Value.(*hujson.Object)
	section := member(root, k.section())
	if section == nil {
		section = add(root, "", k.section(), &hujson.Object{})
	}
	object := section.Value.(*hujson.Object)
	if at := member(object, k.name()); at != nil {
		at.Value = literal
	} else {
		add(object, indentOf(root, ""), k.name(), literal)
	}
	out := doc.tree.Pack()
	if _, err := Parse(out); err != nil { // relations, size
		return nil, placeless(err)
	}
	return out, nil
}

// placeless takes the places away, which are in a text that nobody will see.
func placeless(err error) error {
	var found Problems
	if !errors.As(err, &found) {
		return err
	}
	for i := range found {
		found[i].Line, found[i].Column = 0, 0
	}
	return found
}

// literal reads what a person typed as a value of the key.
func (k Key) literal(typed string) (hujson.ValueTrimmed, error) {
	if len(typed) > SizeMax || !utf8.ValidString(typed) {
		return nil, Problems{{Path: k.Path, Message: "not a value"}}
	}
	src := []byte(strings.TrimSpace(typed))
	if k.Kind == Text && !bytes.HasPrefix(src, []byte(`"`)) {
		src = hujson.String(typed)
	}
	value, err := k.decode(src)
	if err == nil {
		err = k.admits(value)
	}
	if err != nil {
		return nil, Problems{{Path: k.Path, Message: err.Error()}}
	}
	written, err := strictjson.Marshal(value)
	if err != nil {
		return nil, err
	}
	parsed, err := hujson.Parse(written)
	if err != nil {
		return nil, err
	}
	return parsed.Value, nil
}

// member finds the value of a name, or nil.
func member(o *hujson.Object, name string) *hujson.Value {
	for i := range o.Members {
		if o.Members[i].Name.Value.(hujson.Literal).String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// add puts a member on a line of its own at the end. What stood between the last member and the brace, such
// as a comment on that member, stays with that member. outer is the indentation of the line with the brace.
func add(o *hujson.Object, outer, name string, value hujson.ValueTrimmed) *hujson.Value {
	indent := indentOf(o, outer)
	lead := append(bytes.TrimRight(o.AfterExtra, " \t\r\n"), "\n"+indent...)
	added := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: lead, Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil {
		added.Value.AfterExtra = hujson.Extra{} // the file's way is to end with a comma
	}
	o.AfterExtra = hujson.Extra("\n" + outer)
	o.Members = append(o.Members, added)
	return &o.Members[len(o.Members)-1].Value
}

// indentOf is how the object's members are indented: as they are, or once more as much as outer, which is what one level
// of this file has, for settings have two. A tab where the file has nothing to go by.
func indentOf(o *hujson.Object, outer string) string {
	if len(o.Members) > 0 {
		before := string(o.Members[0].Name.BeforeExtra)
		if at := strings.LastIndexByte(before, '\n'); at >= 0 && strings.Trim(before[at+1:], " \t") == "" {
			return before[at+1:]
		}
	}
	return outer + cmp.Or(outer, "\t")
}
