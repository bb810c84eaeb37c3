// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"spawn/internal/strictjson"
)

const (
	// SizeMax is the largest settings file, in bytes. Every key with a line of comment is under 8 KiB.
	SizeMax = 256 << 10
	// depthMax bounds nesting before hujson sees the text: its parser recurses without a limit. Ours is 3.
	depthMax = 16
)

// Parse reads settings: JSON with comments and trailing commas, each key as in Keys, all optional. It
// touches nothing but its argument. An error is Problems, with every fault that was found.
func Parse(src []byte) (Config, error) {
	doc, err := parseDocument(src)
	if err != nil {
		return Config{}, err
	}
	return doc.config, nil
}

// document is a file without faults.
type document struct {
	tree   hujson.Value // as written, comments included
	config Config
	set    map[string]bool // paths that the file names
}

// parseDocument goes from the outside in: size, text, nesting, syntax, names and values by the table, and at
// last the strict reader, whose word on what JSON is counts.
func parseDocument(src []byte) (document, error) {
	f := &finding{src: src}
	if !f.checkText() {
		return document{}, f.err()
	}
	if len(src) > 0 && src[len(src)-1] != '\n' {
		src = append(bytes.Clone(src), '\n') // a last line may be a comment, which needs its end
	}
	tree, err := hujson.Parse(bytes.Clone(src))
	if err != nil {
		f.syntax(err)
		return document{}, f.err()
	}
	standard := tree.Clone()
	standard.Standardize()
	d := document{tree: tree, config: Default(), set: map[string]bool{}}
	r := reader{finding: f, document: &d, places: map[string]int{}}
	r.root(standard)
	if len(f.problems) == 0 {
		r.relations()
	}
	if len(f.problems) == 0 {
		r.strict(standard.Pack())
	}
	return d, f.err()
}

// checkText bounds what the parser gets to see.
func (f *finding) checkText() bool {
	if len(f.src) > SizeMax {
		f.problems = append(f.problems, Problem{Message: fmt.Sprintf("longer than %d bytes", SizeMax)})
		return false
	}
	for at := 0; at < len(f.src); {
		r, n := utf8.DecodeRune(f.src[at:])
		if r == utf8.RuneError && n == 1 {
			f.at(at, "", "not UTF-8")
			return false
		}
		at += n
	}
	if at, deep := tooDeep(f.src); deep {
		f.at(at, "", "nested more than %d deep", depthMax)
		return false
	}
	return true
}

// tooDeep finds the first bracket that opens below depthMax. It knows strings and comments as hujson does,
// so that a bracket in either counts for nothing.
func tooDeep(src []byte) (at int, deep bool) {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case '/':
			i += commentLen(src[i:]) - 1
		case '{', '[':
			if depth++; depth > depthMax {
				return i, true
			}
		case '}', ']':
			depth--
		}
	}
	return 0, false
}

// commentLen is the length of the comment at the start of src, or 1 where there is none. One that does not
// end takes the rest: what follows is never parsed.
func commentLen(src []byte) int {
	for start, end := range map[string]string{"//": "\n", "/*": "*/"} {
		if rest, ok := bytes.CutPrefix(src, []byte(start)); ok {
			if i := bytes.Index(rest, []byte(end)); i >= 0 {
				return len(start) + i + len(end)
			}
			return len(src)
		}
	}
	return 1
}

// syntax notes a fault that hujson found. Its words may repeat a value, so only its place is taken.
func (f *finding) syntax(err error) {
	p := Problem{Message: "not JSON with comments"}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		p.Message = "the text ends too early"
	}
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &p.Line, &p.Column); scanErr != nil {
		p.Line, p.Column = 0, 0
	} else {
		p.Column = characters(f.src, p.Line, p.Column)
	}
	f.problems = append(f.problems, p)
}

// characters turns a column that counts bytes into one that counts characters.
func characters(src []byte, line, column int) int {
	lines := bytes.Split(src, []byte("\n"))
	if line < 1 || line > len(lines) {
		return column
	}
	text := lines[line-1]
	return 1 + utf8.RuneCount(text[:min(max(column-1, 0), len(text))])
}

// reader walks a parsed file along the table.
type reader struct {
	*finding
	*document
	places map[string]int // offset of each key in the file
}

func (r *reader) root(v hujson.Value) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		r.at(v.StartOffset, "", "want an object: { … }")
		return
	}
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.Name
	}
	r.members(object, "", names, func(name string, value hujson.Value) { r.section(name, value) })
}

func (r *reader) section(section string, v hujson.Value) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		r.at(v.StartOffset, section, "want an object: { … }")
		return
	}
	var names []string
	for _, k := range keys {
		if k.section() == section {
			names = append(names, k.name())
		}
	}
	r.members(object, section+".", names, func(name string, value hujson.Value) {
		k, _ := Lookup(section + "." + name)
		r.value(k, value)
	})
}

// members calls each for every known member, and notes the others.
func (r *reader) members(object *hujson.Object, prefix string, known []string, each func(string, hujson.Value)) {
	seen := map[string]bool{}
	for _, m := range object.Members {
		var name string
		if err := strictjson.Unmarshal(m.Name.Value.(hujson.Literal), &name); err != nil {
			r.at(m.Name.StartOffset, strings.TrimSuffix(prefix, "."), "a name that is not valid text")
			continue
		}
		path := prefix + shown(name)
		switch meant := match(known, name); {
		case meant == "":
			r.at(m.Name.StartOffset, path, "unknown")
		case meant != name:
			r.at(m.Name.StartOffset, path, "unknown: it is written %s", meant)
		case seen[name]:
			r.at(m.Name.StartOffset, path, "given twice")
		default:
			seen[name] = true
			each(name, m.Value)
		}
	}
}

// match finds the known name that is meant, whatever its case, or "".
func match(known []string, name string) string {
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
	}
	return ""
}

func (r *reader) value(k Key, v hujson.Value) {
	value, err := k.decode(bytes.TrimSpace(v.Pack()))
	if err == nil {
		err = k.admits(value)
	}
	if err != nil {
		r.at(v.StartOffset, k.Path, "%s", err)
		return
	}
	k.assign(&r.config, value)
	r.set[k.Path] = true
	r.places[k.Path] = v.StartOffset
}

// decode reads standard JSON as a value of the key's type. Its errors do not repeat it.
func (k Key) decode(src []byte) (any, error) {
	if k.Kind == Table {
		if presets, ok := decodePresets(src); ok {
			return presets, nil
		}
		return nil, fmt.Errorf("wrong type: want %s", k.Rule)
	}
	var c Config
	if !bytes.HasPrefix(src, []byte("null")) && strictjson.Unmarshal(src, k.at(&c)) == nil {
		if words, ok := k.at(&c).(*[]string); !ok || !hasNull(src, len(*words)) {
			return k.Value(c), nil
		}
	}
	return nil, fmt.Errorf("wrong type: want %s", map[Kind]string{
		Bool: "true or false", Int: "a whole number", Text: "a text in quotes", Words: "a list of texts in quotes",
	}[k.Kind])
}

// hasNull reports whether an array of texts holds a null, which would pass for an empty text.
func hasNull(src []byte, n int) bool {
	pointers := make([]*string, 0, n)
	if err := strictjson.Unmarshal(src, &pointers); err != nil {
		return true
	}
	for _, p := range pointers {
		if p == nil {
			return true
		}
	}
	return false
}

func (r *reader) relations() {
	for _, rule := range relations {
		if rule.holds(r.config) {
			continue
		}
		blamed := rule.blamed
		if !r.set[blamed] {
			blamed = rule.other
		}
		r.at(r.places[blamed], blamed, "%s", rule.says)
	}
}

// strict is the second pass: the whole file, with its comments blanked out, as the type it stands for.
func (r *reader) strict(standard []byte) {
	var c Config
	if err := strictjson.Unmarshal(standard, &c); err != nil {
		offset, _ := strictjson.Offset(err)
		r.at(int(offset), "", "refused by the strict reader")
	}
}
