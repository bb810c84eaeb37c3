// SPDX-License-Identifier: Apache-2.0

package strictjson_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"spawn/internal/strictjson"
)

type record struct {
	Role       string            `json:"role"`
	Generation int64             `json:"generation"`
	Nested     *record           `json:"nested,omitzero"`
	Names      []string          `json:"names,omitzero"`
	Labels     map[string]string `json:"labels,omitzero"`
}

func TestUnmarshalRefusesWhatTwoReadersCouldReadTwice(t *testing.T) {
	cases := map[string]string{
		"empty":                     ``,
		"white space":               ` `,
		"null":                      `null`,
		"null after space":          " \n null",
		"unknown member":            `{"role":"a","extra":1}`,
		"unknown nested member":     `{"nested":{"extra":1}}`,
		"duplicate":                 `{"role":"viewer","role":"controller"}`,
		"duplicate by escape":       `{"role":"viewer","r\u006fle":"controller"}`,
		"duplicate in map":          `{"labels":{"a":"1","a":"2"}}`,
		"case variant":              `{"Role":"controller"}`,
		"case variant beside":       `{"role":"viewer","Role":"controller"}`,
		"invalid UTF-8":             "{\"role\":\"\xff\"}",
		"invalid UTF-8 in name":     "{\"ro\xffle\":\"\"}",
		"lone surrogate":            `{"role":"\ud800"}`,
		"byte order mark":           "\ufeff{}",
		"trailing value":            `{} {}`,
		"trailing text":             `{}x`,
		"trailing NUL":              "{}\x00",
		"unfinished":                `{"role":"a"`,
		"trailing comma":            `{"role":"a",}`,
		"comment":                   `{/**/}`,
		"single quotes":             `{'role':'a'}`,
		"number as string":          `{"generation":"1"}`,
		"fraction":                  `{"generation":1.0}`,
		"exponent":                  `{"generation":1e3}`,
		"negative zero":             `{"generation":-0}`,
		"too large for the integer": `{"generation":9223372036854775808}`,
		"infinite":                  `{"generation":1e400}`,
		"NaN":                       `{"generation":NaN}`,
		"control in string":         "{\"role\":\"\x01\"}",
	}
	for name, src := range cases {
		t.Run(name, func(t *testing.T) {
			kept := record{Role: "kept", Generation: 7}
			if err := strictjson.Unmarshal([]byte(src), &kept); err == nil {
				t.Fatalf("accepted %q as %+v", src, kept)
			}
			if kept.Role != "kept" || kept.Generation != 7 {
				t.Errorf("a refused value changed its target to %+v", kept)
			}
		})
	}
}

func TestUnmarshalReplacesTheWholeTarget(t *testing.T) {
	got := record{Role: "old", Generation: 7, Names: []string{"old"}}
	if err := strictjson.Unmarshal([]byte(` {"generation":9007199254740993} `), &got); err != nil {
		t.Fatal(err)
	}
	if got.Role != "" || got.Names != nil || got.Generation != 1<<53+1 {
		t.Errorf("got %+v", got)
	}
}

func TestUnmarshalBoundsDepth(t *testing.T) {
	nest := func(n int) []byte {
		return []byte(strings.Repeat(`{"nested":`, n-1) + `{}` + strings.Repeat(`}`, n-1))
	}
	var got record
	for _, n := range []int{1, strictjson.DepthMax - 1, strictjson.DepthMax} {
		if err := strictjson.Unmarshal(nest(n), &got); err != nil {
			t.Errorf("depth %d: %v", n, err)
		}
	}
	for _, n := range []int{strictjson.DepthMax + 1, 10_000, 1_000_000} {
		if err := strictjson.Unmarshal(nest(n), &got); !errors.Is(err, strictjson.ErrDepth) {
			t.Errorf("depth %d: got %v, want ErrDepth", n, err)
		}
	}
	arrays := []byte(strings.Repeat("[", 2_000_000))
	if err := strictjson.Unmarshal(arrays, &got); !errors.Is(err, strictjson.ErrDepth) {
		t.Errorf("open arrays: got %v, want ErrDepth", err)
	}
}

func TestUnmarshalWantsAPointer(t *testing.T) {
	if err := strictjson.Unmarshal([]byte(`{}`), record{}); err == nil {
		t.Error("accepted a value")
	}
	if err := strictjson.Unmarshal([]byte(`{}`), (*record)(nil)); err == nil {
		t.Error("accepted a nil pointer")
	}
}

func TestMarshalIsDeterministic(t *testing.T) {
	v := record{Role: "<&>\u2028", Labels: map[string]string{"b": "2", "a": "1", "c": "3"}}
	want := "{\"role\":\"<&>\u2028\",\"generation\":0,\"labels\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}"
	for range 50 {
		got, err := strictjson.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Fatalf("got %s", got)
		}
	}
	if out, err := strictjson.Marshal(record{Role: "\xff"}); err == nil {
		t.Errorf("encoded invalid UTF-8 as %q", out)
	}
}

func TestIndentChangesWhiteSpaceAlone(t *testing.T) {
	src := []byte(`{"a":[1,{"b":"\u202e \u00e9"}],"c":{},"d":[]}`)
	got, err := strictjson.Indent(src)
	want := "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"\\u202e \\u00e9\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}"
	if err != nil || string(got) != want {
		t.Errorf("Indent = %s, %v", got, err)
	}
	if got, err := strictjson.Indent([]byte(`{"a":`)); err == nil {
		t.Errorf("Indent = %s", got)
	}
}

func TestVersionReadsPastUnknownMembers(t *testing.T) {
	got, err := strictjson.Version([]byte(` {"later":{"a":[1]},"version":6}`), "version")
	if err != nil || got != 6 {
		t.Errorf("got %d, %v", got, err)
	}
	for _, src := range []string{``, `null`, `[]`, `6`, `{}`, `{"version":"6"}`, `{"version":null}`,
		`{"version":6,"version":5}`, `{"Version":6}`, `{"version":6}x`, `{"version":1.5}`} {
		if got, err := strictjson.Version([]byte(src), "version"); err == nil {
			t.Errorf("%q: got %d, want an error", src, got)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"role":"a","generation":1}`))
	f.Add([]byte(`{"nested":{"names":["a"]},"labels":{"k":"v"}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		var first, second record
		if strictjson.Unmarshal(src, &first) != nil {
			return
		}
		once, err := strictjson.Marshal(first)
		if err != nil {
			t.Fatalf("decoded and cannot encode: %v", err)
		}
		if err := strictjson.Unmarshal(once, &second); err != nil {
			t.Fatalf("own output refused: %v", err)
		}
		twice, err := strictjson.Marshal(second)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("not a fixed point: %s, then %s (%v)", once, twice, err)
		}
	})
}

func TestOffsetNamesThePlaceOfAFault(t *testing.T) {
	for src, want := range map[string]int64{`{"role":"a",}`: 12, `{"generation":"1"}`: 13} {
		var r record
		err := strictjson.Unmarshal([]byte(src), &r)
		if at, ok := strictjson.Offset(err); !ok || at < want-1 || at > want+1 {
			t.Errorf("%s: offset %d, %v of %v; want about %d", src, at, ok, err, want)
		}
	}
	if at, ok := strictjson.Offset(strictjson.ErrNull); ok {
		t.Errorf("ErrNull has the place %d", at)
	}
}

// What is appended, and what is compared, is what Marshal writes.
func TestEveryWayToWriteIsTheSame(t *testing.T) {
	type record struct {
		Text  string   `json:"text"`
		Rows  []string `json:"rows"`
		Count int      `json:"count,omitzero"`
	}
	for _, v := range []record{{}, {Text: "\"\\\u2028\x7f 世界\n"}, {Rows: slices.Repeat([]string{"a row of some text"}, 10_000), Count: 7}} {
		want, err := strictjson.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := strictjson.AppendMarshal([]byte("before"), v); err != nil || string(got) != "before"+string(want) {
			t.Errorf("appended %.100s, %v", got, err)
		}
		if !strictjson.IsSpelt(want, v) || strictjson.IsSpelt(want[:len(want)-1], v) || strictjson.IsSpelt(append(want, ' '), v) || strictjson.IsSpelt(bytes.Replace(want, []byte(`:`), []byte(`: `), 1), v) {
			t.Errorf("%.100s: another spelling is taken for this one", want)
		}
		quoted, err := strictjson.Marshal(v.Text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := strictjson.AppendString([]byte("before"), []byte(v.Text)); err != nil || string(got) != "before"+string(quoted) {
			t.Errorf("appended %s, %v", got, err)
		}
	}
	if got, err := strictjson.AppendString([]byte("before"), "\xff"); err == nil || string(got) != "before" {
		t.Errorf("invalid UTF-8: %q, %v", got, err)
	}
	if got, err := strictjson.AppendMarshal([]byte("before"), "\xff"); err == nil || string(got) != "before" || strictjson.IsSpelt([]byte(`"x"`), "\xff") {
		t.Errorf("invalid UTF-8: %q, %v", got, err)
	}
}
