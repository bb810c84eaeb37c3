// SPDX-License-Identifier: Apache-2.0

// Package strictjson reads and writes JSON in exactly one way, so that two readers of a record can
// never understand it differently.
//
// It is the only importer of a JSON library. The standard encoding/json takes the last of two
// duplicate names, matches names without regard to case, replaces invalid UTF-8 and ignores what
// follows the value; each of those lets one record mean two things, so here each is an error.
//
// Size is the caller's duty: check the number of bytes before Unmarshal, which allocates in
// proportion to them.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DepthMax is the deepest nesting of objects and arrays that Unmarshal accepts. Our own records
// need 6; the bound keeps a hostile record from costing stack and time.
const DepthMax = 32

var (
	// ErrDepth says that a value nests deeper than DepthMax.
	ErrDepth = errors.New("JSON nests too deeply")
	// ErrNull says that the whole value is null, which would pass for a record of zeroes.
	ErrNull = errors.New("JSON value is null")
	// ErrNegativeZero says that a number is written -0, which an integer cannot keep.
	ErrNegativeZero = errors.New("JSON number is negative zero")
	// ErrNotObject says that a record was expected and something else came.
	ErrNotObject = errors.New("JSON value is not an object")
)

// Unmarshal decodes the one JSON value in src into dst, a non-nil pointer. It refuses unknown,
// duplicate and case-variant member names, invalid UTF-8, bytes after the value, nesting beyond
// DepthMax, the number -0 and a top-level null. dst is assigned as a whole and only on success.
func Unmarshal(src []byte, dst any) error {
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode JSON into %T: not a non-nil pointer", dst)
	}
	if err := checkShape(src); err != nil {
		return fmt.Errorf("decode JSON: %w", err)
	}
	// The library writes into its target while it reads. A fresh value keeps dst whole on failure
	// and keeps members that src leaves out from inheriting what dst held.
	fresh := reflect.New(target.Type().Elem())
	if err := json.Unmarshal(src, fresh.Interface(), decodeOptions); err != nil {
		return fmt.Errorf("decode JSON: %w", err)
	}
	target.Elem().Set(fresh.Elem())
	return nil
}

// Marshal encodes v in the one form that this package writes: no insignificant white space, struct
// members in the order of their declaration, map members sorted, nil slices as [] and nil maps
// as {}. It fails on invalid UTF-8 rather than replace it.
func Marshal(v any) ([]byte, error) {
	out, err := json.Marshal(v, encodeOptions)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return out, nil
}

// AppendMarshal appends v as Marshal encodes it. On an error dst comes back as it was.
func AppendMarshal(dst []byte, v any) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(out, v, encodeOptions); err != nil {
		return dst, fmt.Errorf("encode JSON: %w", err)
	}
	return out.Bytes(), nil
}

// IsSpelt reports whether Marshal would encode v as src. It needs no second copy of src.
func IsSpelt(src []byte, v any) bool {
	rest := speltRest(src)
	return json.MarshalWrite(&rest, v, encodeOptions) == nil && len(rest) == 0
}

// speltRest is what has not been written yet of what is expected.
type speltRest []byte

var errSpelling = errors.New("JSON is spelt in another way")

func (r *speltRest) Write(p []byte) (int, error) {
	rest, ok := bytes.CutPrefix(*r, p)
	if !ok {
		return 0, errSpelling
	}
	*r = rest
	return len(p), nil
}

// Indent lays out the one JSON value in src for a person to read: a line for each member and element, two
// blanks a level. It changes white space alone.
func Indent(src []byte) ([]byte, error) {
	out := jsontext.Value(bytes.Clone(src))
	if err := out.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, fmt.Errorf("indent JSON: %w", err)
	}
	return out, nil
}

// AppendString appends s as Marshal would write it as a string. It fails on invalid UTF-8, and dst then comes back
// as it was.
func AppendString[T ~string | ~[]byte](dst []byte, s T) ([]byte, error) {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return dst, fmt.Errorf("encode JSON: %w", err)
	}
	return out, nil
}

// Version reads the integer member name of the object in src and ignores all others, so that a
// record of another version can be told apart from a damaged one before Unmarshal refuses its
// unknown members. The object must satisfy everything else that Unmarshal demands of syntax.
func Version(src []byte, name string) (int64, error) {
	if err := checkShape(src); err != nil {
		return 0, fmt.Errorf("read JSON member %q: %w", name, err)
	}
	var members map[string]jsontext.Value
	if src = bytes.TrimLeft(src, " \t\r\n"); src[0] != '{' {
		return 0, fmt.Errorf("read JSON member %q: %w", name, ErrNotObject)
	}
	if err := json.Unmarshal(src, &members, decodeOptions); err != nil {
		return 0, fmt.Errorf("read JSON member %q: %w", name, err)
	}
	if value := members[name]; value.Kind() == 'n' {
		return 0, fmt.Errorf("read JSON member %q: %w", name, ErrNull)
	}
	var version int64
	if err := json.Unmarshal(members[name], &version, decodeOptions); err != nil {
		return 0, fmt.Errorf("read JSON member %q: %w", name, err)
	}
	return version, nil
}

// Offset tells at which byte of its input an error of this package struck, or shortly before. It reports
// false for errors that have no place.
func Offset(err error) (int64, bool) {
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
		return syntactic.ByteOffset, true
	}
	if semantic := (*json.SemanticError)(nil); errors.As(err, &semantic) {
		return semantic.ByteOffset, true
	}
	return 0, false
}

var (
	decodeOptions = json.JoinOptions(
		json.RejectUnknownMembers(true),
		json.MatchCaseInsensitiveNames(false),
		jsontext.AllowDuplicateNames(false),
		jsontext.AllowInvalidUTF8(false),
	)
	encodeOptions = json.JoinOptions(
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(false),
	)
)

// checkShape walks the tokens of src once: nesting has to be bounded before the decoder recurses,
// and null and -0 have to be seen before they turn into a plain zero.
func checkShape(src []byte) error {
	tokens := jsontext.NewDecoder(bytes.NewBuffer(src))
	if tokens.PeekKind() == 'n' {
		return ErrNull
	}
	for {
		token, err := tokens.ReadToken()
		if err != nil {
			return err
		}
		if token.Kind() == '0' && token.String() == "-0" {
			return ErrNegativeZero
		}
		switch depth := tokens.StackDepth(); {
		case depth > DepthMax:
			return ErrDepth
		case depth == 0:
			return nil // json.Unmarshal itself refuses what follows the value.
		}
	}
}
