// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MembersMax is the most members of one object that Peek and Walk pass over. Our own records have
// fewer than 20; without the bound, the names of a hostile object would be held in memory to find
// duplicates among them.
const MembersMax = 64

// ErrMembers says that an object has more than MembersMax members.
var ErrMembers = errors.New("JSON object has too many members")

// Peek returns the integer member name of the object that src begins with, and looks at nothing that
// follows it: not at later members, not at a second one of this name. It is for a record whose version
// has to be known before anything else about it may be judged. An integer beyond int64 is returned as the
// nearest int64: it is still an integer.
func Peek(src []byte, name string) (int64, error) {
	tokens := lenientNames(src)
	if kind := tokens.PeekKind(); kind != '{' {
		return 0, fmt.Errorf("read JSON member %q: %w", name, ErrNotObject)
	}
	for {
		key, value, err := step(tokens)
		if err != nil {
			return 0, fmt.Errorf("read JSON member %q: %w", name, err)
		}
		switch {
		case tokens.StackDepth() == 0:
			return 0, fmt.Errorf("read JSON member %q: absent", name)
		case key && tokens.StackDepth() == 1 && value.String() == name:
			value, err := tokens.ReadToken()
			if err != nil || value.Kind() != '0' {
				return 0, fmt.Errorf("read JSON member %q: not a number", name)
			}
			return integer(value.String())
		}
	}
}

// integer reads a JSON number that is written as an integer.
func integer(number string) (int64, error) {
	if number == "-0" {
		return 0, ErrNegativeZero
	}
	if strings.ContainsAny(number, ".eE") {
		return 0, errors.New("JSON number is not an integer")
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		if number[0] == '-' {
			return math.MinInt64, nil
		}
		return math.MaxInt64, nil
	}
	return n, err
}

// Walk reads the one JSON value in src and calls element for each element of each array, with the name
// of the member that holds the array ("" for an array that no member holds). So a reader bounds what a
// record holds before Unmarshal allocates it. Walk refuses what Unmarshal does, but for what only
// the type can tell, and duplicate names. An error of element ends the walk and is returned as it is.
func Walk(src []byte, element func(array string) error) error {
	tokens := lenientNames(src)
	var names [DepthMax + 1]string // of the member that is open at each depth
	if tokens.PeekKind() == 'n' {
		return ErrNull
	}
	for {
		depth := tokens.StackDepth()
		kind, _ := tokens.StackIndex(depth)
		key, value, err := step(tokens)
		if err != nil {
			return err
		}
		switch {
		case key:
			names[depth] = value.String()
		case kind == '[' && value.Kind() != ']':
			if err := element(names[depth-1]); err != nil {
				return err
			}
		}
		if kind == '[' && value.Kind() == '[' {
			names[depth] = "" // no member holds an array in an array
		}
		if tokens.StackDepth() == 0 {
			return rest(tokens)
		}
	}
}

// step reads one token and tells whether it is the name of a member.
func step(tokens *jsontext.Decoder) (key bool, value jsontext.Token, err error) {
	depth := tokens.StackDepth()
	kind, length := tokens.StackIndex(depth)
	key = kind == '{' && length%2 == 0
	if value, err = tokens.ReadToken(); err != nil {
		return false, value, err
	}
	if value.Kind() == '0' && value.String() == "-0" {
		return false, value, ErrNegativeZero
	}
	if tokens.StackDepth() > DepthMax {
		return false, value, ErrDepth
	}
	if key = key && value.Kind() == '"'; key && length >= 2*MembersMax {
		return false, value, ErrMembers
	}
	return key, value, nil
}

// rest refuses what follows the value.
func rest(tokens *jsontext.Decoder) error {
	if left := bytes.TrimLeft(tokens.UnreadBuffer(), " \t\r\n"); len(left) > 0 {
		return errors.New("JSON value is followed by more")
	}
	return nil
}

// lenientNames reads tokens without remembering names, which a hostile record could have millions of.
func lenientNames(src []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true))
}
