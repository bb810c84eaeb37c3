// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"strings"
	"testing"
)

const golden = `{"version":1,"tree":{"next":{"session":1,"window":1,"pane":1},` +
	`"sessions":[{"id":"s0","name":"main","windows":[{"id":"w0","name":"","pane":"p0"}]}],` +
	`"panes":[{"id":"p0","session_id":"00000000-0000-4000-8000-000000000001","name":"build","title":"make","end":{"exit_code":3}}]}}` + "\n"

func TestTheFormatStays(t *testing.T) {
	tree, p, _ := Tree{}.NewPane("", worker(1), "build")
	tree, _ = tree.SetTitle(p.ID, "make")
	tree, _ = tree.Ended(p.ID, End{ExitCode: code(3)})
	src, err := Encode(tree)
	if err != nil || string(src) != golden {
		t.Fatalf("Encode = %s, %v", src, err)
	}
	if back, err := Decode([]byte(golden)); err != nil || !back.Equal(tree) {
		t.Fatalf("Decode = %+v, %v", back, err)
	}
}

func TestDecodeRefusesWhatBreaksARule(t *testing.T) {
	cases := []struct{ name, old, new string }{
		{"pane id not given out", `"pane":1}`, `"pane":0}`},
		{"window id not given out", `"window":1`, `"window":0`},
		{"session id not given out", `"session":1`, `"session":0`},
		{"leading zero", `"id":"p0"`, `"id":"p00"`},
		{"other letter", `"id":"s0"`, `"id":"w0"`},
		{"no worker", `00000000-0000`, `00000000_0000`},
		{"upper case worker", `8000-0000`, `8000-A000`},
		{"window without pane", `"pane":"p0"`, `"pane":"p1"`},
		{"control in a name", `"build"`, `"bu\u001bild"`},
		{"space around a name", `"build"`, `"build "`},
		{"long title", `"make"`, `"` + strings.Repeat("x", TitleRunesMax+1) + `"`},
		{"nameless session", `"main"`, `""`},
		{"code and signal", `{"exit_code":3}`, `{"exit_code":3,"signal":"KILL"}`},
		{"unknown member", `"version":1`, `"version":1,"x":1`},
		{"double member", `"name":"build"`, `"name":"build","name":"b"`},
		{"trailing bytes", "}}\n", "}}\n{}"},
		{"no window", `[{"id":"w0","name":"","pane":"p0"}]`, `[]`},
		{"pane in no window", `[{"id":"s0","name":"main","windows":[{"id":"w0","name":"","pane":"p0"}]}]`, `[]`},
		{"nothing", golden, ""},
		{"null", golden, "null"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(golden, c.old, c.new, 1)
			if src == golden {
				t.Fatal("the case changes nothing")
			}
			if tree, err := Decode([]byte(src)); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("Decode = %+v, %v", tree, err)
			}
		})
	}
	later := strings.Replace(golden, `"version":1`, `"version":2,"more":[]`, 1)
	if _, err := Decode([]byte(later)); !errors.Is(err, ErrVersion) || errors.Is(err, ErrCorrupt) {
		t.Fatalf("a later version: %v", err)
	}
	if _, err := Decode(make([]byte, EncodedMax+1)); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("too long: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(golden))
	f.Fuzz(func(t *testing.T, src []byte) {
		tree, err := Decode(src)
		if err != nil {
			return
		}
		again, err := Encode(tree)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if back, err := Decode(again); err != nil || !back.Equal(tree) {
			t.Fatalf("%v", err)
		}
	})
}
