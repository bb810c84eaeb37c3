// SPDX-License-Identifier: Apache-2.0

package strictjson_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"spawn/internal/strictjson"
)

func TestPeekLooksNoFurtherThanTheMember(t *testing.T) {
	for src, want := range map[string]int64{
		`{"format":3}`: 3,
		` {"a":{"format":7,"b":[1]},"format":-4, not`: -4,
		`{"format":9,"format":1}`:                     9,
		`{"format":99999999999999999999}`:             math.MaxInt64,
		`{"format":-99999999999999999999}`:            math.MinInt64,
	} {
		if got, err := strictjson.Peek([]byte(src), "format"); err != nil || got != want {
			t.Errorf("%s: got %d, %v", src, got, err)
		}
	}
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"a%d":1,`, i)
		}
		return "{" + b.String() + `"format":1}`
	}
	if _, err := strictjson.Peek([]byte(many(strictjson.MembersMax-1)), "format"); err != nil {
		t.Error(err)
	}
	for _, src := range []string{``, `3`, `null`, `[3]`, `{}`, `{"a":1}`, `{"format":"3"}`, `{"format":null}`, `{"format":3.0}`,
		`{"format":3e0}`, `{"format":-0}`, `{"format":{}}`, `{"a":{"format":3}}`, `{"Format":3}`, "\ufeff{\"format\":3}",
		many(strictjson.MembersMax), strings.Repeat(`{"a":`, 40) + `{"format":3}`} {
		if got, err := strictjson.Peek([]byte(src), "format"); err == nil {
			t.Errorf("%.60q: got %d, want an error", src, got)
		}
	}
}

func TestWalkCountsElementsByArray(t *testing.T) {
	got := map[string]int{}
	src := ` {"a":[1,{"b":[[],{"c":"x"}]},3],"d":{"e":[]},"b":["1"]} `
	if err := strictjson.Walk([]byte(src), func(array string) error { got[array]++; return nil }); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"a": 3, "b": 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	if err := strictjson.Walk([]byte(`[{"a":{"b":1}},[[1],2]]`), func(array string) error { got[array]++; return nil }); err != nil || got[""] != 5 || got["b"] != 3 {
		t.Errorf("arrays without a name: %v, %v", got, err)
	}
	stop := errors.New("enough")
	if err := strictjson.Walk([]byte(`{"a":[1,2]}x`), func(string) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
}

func TestWalkRefuses(t *testing.T) {
	for src, want := range map[string]error{
		``: nil, `null`: strictjson.ErrNull, `{} {}`: nil, `[-0]`: strictjson.ErrNegativeZero, "[\"\xff\"]": nil, `["\ud800"]`: nil,
		strings.Repeat("[", 33): strictjson.ErrDepth, `{"a":1`: nil, `[1]x`: nil,
		"{" + strings.Repeat(`"a":1,`, strictjson.MembersMax) + `"a":1}`: strictjson.ErrMembers,
	} {
		err := strictjson.Walk([]byte(src), func(string) error { return nil })
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%.40q: got %v, want %v", src, err, want)
		}
	}
	if err := strictjson.Walk([]byte(strings.Repeat("[", 32)+strings.Repeat("]", 32)), func(string) error { return nil }); err != nil {
		t.Error(err)
	}
}
