// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// goldenTree has one of everything that the file can hold.
func goldenTree(t *testing.T) Tree {
	t.Helper()
	b := build{t: t}
	b.pane("", "build")                                               // p0 in w0 of s0
	b.split(Spot{Beside: "p0", Axis: AxisCols}, "")                   // p1
	b.split(Spot{Beside: "p1", Axis: AxisRows, Before: true}, "logs") // p2
	b.do(b.Resize("p0", AxisCols, 6250))
	b.float("w0", Float{Preset: "venom.settings"}) // p3
	b.float("w0", everyMember())                   // p4
	b.do(b.SetTag("p4", "role", "agent"))
	b.do(b.SetTag("p4", "group", "thread-7"))
	b.do(b.Rename("w0", "work"))
	b.do(b.SetTitle("p0", "make"))
	b.Panes[b.Tree.paneIndex("p0")].Argv0 = "make"
	b.do(b.Ended("p0", End{ExitCode: code(3)}))
	b.do(b.Ended("p2", End{Signal: "KILL"}))
	b.do(b.Lost("p3"))
	b.do(b.Zoom("p1"))
	b.session("later")      // s1
	b.window("s1", "empty") // w1
	b.pane("s1", "")        // p5
	at := b.Tree.paneIndex("p5")
	b.Panes[at] = archived(b.Panes[at], "p7", TextPlain)
	return b.Tree
}

func everyMember() Float {
	return Float{Title: "build log", Geometry: Geometry{
		Width: "60%", Height: "12", Anchor: AnchorBottomRight, X: code(-1), Y: code(0), MinCols: 20, MinRows: 3, Border: BorderRounded,
	}}
}

// archived makes a pane what a restored one is.
func archived(p Pane, previous string, text TextState) Pane {
	p.SessionID, p.Argv0, p.End = "", "", &End{}
	p.Archive = &Archive{Checkpoint: "c01234567-89ab-4cde-8fab-0123456789ab", PreviousPane: previous, ProcessState: ProcessInterrupted, TextState: text}
	return p
}

// relaunching is goldenTree while p6 is being started in place of p5.
func relaunching(t *testing.T) Tree {
	t.Helper()
	tree, id, err := goldenTree(t).ReservePane()
	if err == nil {
		tree, err = tree.BeginRelaunch("p5", Start{Worker: worker(9), Argv0: "/usr/bin/make", Owner: "venom", ID: id})
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestTheFormatStays(t *testing.T) {
	for file, tree := range map[string]Tree{"v3.json": goldenTree(t), "v4.json": relaunching(t)} {
		want := golden(t, file)
		src, err := Encode(tree)
		if err != nil || string(src) != string(want) {
			t.Fatalf("Encode = %s, %v", src, err)
		}
		if back, err := Decode(want); err != nil || !back.Equal(tree) {
			t.Fatalf("Decode = %+v, %v", back, err)
		}
	}
}

// A version says no more and no less than what the file needs, and each is read under its own rules.
func TestRelaunchesAreReadStrictly(t *testing.T) {
	src := string(golden(t, "v4.json"))
	for name, c := range map[string][2]string{
		"version before it":  {`"version":4`, `"version":3`},
		"version 2":          {`"version":4`, `"version":2`},
		"of no archive":      {`,"archive":{"checkpoint":"c01234567-89ab-4cde-8fab-0123456789ab","previous_pane":"p7","process_state":"interrupted","text_state":"plain","cut_rows":0}`, ``},
		"pane not given out": {`"relaunch":{"pane":"p6"`, `"relaunch":{"pane":"p7"`},
		"pane that is there": {`"relaunch":{"pane":"p6"`, `"relaunch":{"pane":"p1"`},
		"no pane":            {`"relaunch":{"pane":"p6",`, `"relaunch":{`},
		"another's worker":   {`000000000009"`, `000000000002"`},
		"no worker":          {`00000000-0000-4000-8000-000000000009`, `x`},
		"folder in argv0":    {`"argv0":"make","owner"`, `"argv0":"bin/make","owner"`},
		"empty argv0":        {`"argv0":"make","owner"`, `"argv0":"","owner"`},
		"owner":              {`"owner":"venom"}`, `"owner":"a\u202eb"}`},
		"unknown member":     {`"owner":"venom"}`, `"owner":"venom","x":1}`},
	} {
		bad := strings.Replace(src, c[0], c[1], 1)
		if bad == src {
			t.Fatalf("%s: the case changes nothing", name)
		}
		if tree, err := Decode([]byte(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Decode = %+v, %v", name, tree, err)
		}
	}
	without := strings.Replace(string(golden(t, "v3.json")), `"version":3`, `"version":4`, 1)
	if tree, err := Decode([]byte(without)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("version 4 without a relaunch: Decode = %+v, %v", tree, err)
	}
}

func TestVersionOneIsBroughtUp(t *testing.T) {
	got, err := Decode(golden(t, "v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := build{t: t}
	want.pane("", "build")
	want.adopt(worker(2))
	want.workers = 2
	want.pane("s0", "")
	want.do(want.Rename("w2", "logs"))
	want.do(want.SetTitle("p0", "make"))
	want.do(want.SetTitle("p2", "top"))
	want.do(want.Ended("p0", End{ExitCode: code(3)}))
	want.do(want.Lost("p2"))
	for i := range want.Panes {
		want.Panes[i].Tags = nil
	}
	if !got.Equal(want.Tree) {
		t.Fatalf("got  %+v\nwant %+v", got, want.Tree)
	}
	again, err := Encode(got)
	if err != nil || !strings.HasPrefix(string(again), `{"version":3,`) {
		t.Fatalf("Encode = %s, %v", again, err)
	}
}

func TestVersionTwoIsBroughtUp(t *testing.T) {
	src := golden(t, "v2.json")
	got, err := Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	want := goldenTree(t)
	want.Panes[0].Argv0 = ""
	if !got.Equal(want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	for name, c := range map[string][2]string{
		"member of version 3": {`"title":"make",`, `"title":"make","argv0":"make",`},
		"white space":         {`"version":2`, `"version": 2`},
		"unknown member":      {`"version":2`, `"version":2,"x":1`},
	} {
		bad := strings.Replace(string(src), c[0], c[1], 1)
		if bad == string(src) {
			t.Fatalf("%s: the case changes nothing", name)
		}
		if tree, err := Decode([]byte(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Decode = %+v, %v", name, tree, err)
		}
	}
}

func TestDecodeRefusesWhatBreaksARule(t *testing.T) {
	const leaf = `{"kind":"pane","pane":"p1"}`
	cases := []struct{ name, old, new string }{
		{"pane id not given out", `"pane":6}`, `"pane":5}`},
		{"window id not given out", `"window":3,`, `"window":2,`},
		{"session id not given out", `"session":2,`, `"session":1,`},
		{"counter too large", `"pane":6}`, `"pane":9007199254740992}`},
		{"leading zero", `{"id":"p3"`, `{"id":"p03"`},
		{"panes out of order", `{"id":"p3"`, `{"id":"p1"`},
		{"other letter", `{"id":"s0"`, `{"id":"w0"`},
		{"session twice", `{"id":"s1"`, `{"id":"s0"`},
		{"window twice", `{"id":"w1"`, `{"id":"w0"`},
		{"no worker", `00000000-0000-4000-8000-000000000001`, `00000000_0000-4000-8000-000000000001`},
		{"worker twice", `000000000002`, `000000000001`},
		{"pane in no window", `"id":"p4","window":"w0"`, `"id":"p4","window":"w9"`},
		{"tile of another window", `"id":"p0","window":"w0"`, `"id":"p0","window":"w2"`},
		{"window in no session", `{"id":"w0","session":"s0"`, `{"id":"w0","session":"s9"`},
		{"windows out of order", `{"id":"w2","session":"s1"`, `{"id":"w2","session":"s0"`},
		{"control in a name", `"build"`, `"bu\u001bild"`},
		{"folder in argv0", `"argv0":"make"`, `"argv0":"bin/make"`},
		{"long argv0", `"argv0":"make"`, `"argv0":"` + strings.Repeat("x", Argv0Max+1) + `"`},
		{"empty argv0", `"argv0":"make"`, `"argv0":""`},
		{"archive with a program", `"id":"p5","window":"w2","name":"","title":"",`, `"id":"p5","window":"w2","name":"","title":"","argv0":"sh",`},
		{"space around a name", `"build"`, `"build "`},
		{"long title", `"make"`, `"` + strings.Repeat("x", TitleRunesMax+1) + `"`},
		{"nameless session", `"name":"main"`, `"name":""`},
		{"code and signal", `{"exit_code":3}`, `{"exit_code":3,"signal":"KILL"}`},
		{"empty window that is not kept", `"empty","kept":true`, `"empty"`},
		{"keys of another window", `"active":"p1"`, `"active":"p5"`},
		{"keys of nobody", `"active":"p1"`, `"active":""`},
		{"zoomed float", `"zoomed":"p1"`, `"zoomed":"p4"`},
		{"keys behind the zoom", `"active":"p1"`, `"active":"p0"`},
		{"revision 0", `"revision":5`, `"revision":0`},
		{"axis", `"axis":"rows"`, `"axis":"row"`},
		{"share too large", `"ratio":6250`, `"ratio":10000`},
		{"share below one", `"ratio":6250`, `"ratio":0`},
		{"share on a leaf", leaf, `{"kind":"pane","ratio":5000,"pane":"p1"}`},
		{"leaf without pane", leaf, `{"kind":"pane"}`},
		{"kind", leaf, `{"kind":"leaf","pane":"p1"}`},
		{"pane in two leaves", leaf, `{"kind":"pane","pane":"p0"}`},
		{"float in the tree", leaf, `{"kind":"pane","pane":"p3"}`},
		{"first child elsewhere", `"first":1,`, `"first":2,`},
		{"second child elsewhere", `"second":2,`, `"second":1,`},
		{"second child missing", `"second":4}`, `"second":5}`},
		{"node over", leaf, leaf + `,` + leaf},
		{"layer spelled out", `"float":{"z":1`, `"layer":"float","float":{"z":1`},
		{"z 0", `{"z":1,`, `{"z":0,`},
		{"z twice", `{"z":1,`, `{"z":2,`},
		{"z not given out", `{"z":1,`, `{"z":3,`},
		{"preset without namespace", `"venom.settings"`, `"settings"`},
		{"width", `"60%"`, `"0%"`},
		{"height", `"height":"12"`, `"height":"012"`},

		{"unknown anchor", `"bottom_right"`, `"middle"`},
		{"border", `"rounded"`, `"round"`},
		{"offset", `"x":-1`, `"x":-4097`},
		{"least size", `"min_cols":20`, `"min_cols":65536`},
		{"float title", `"build log"`, `"` + strings.Repeat("x", FloatTitleMax+1) + `"`},
		{"empty tags", `"tags":[{"key":"owner","value":"test"}]`, `"tags":[]`},
		{"tags out of order", `{"key":"group","value":"thread-7"},`, `{"key":"z","value":""},`},
		{"tag twice", `"key":"group"`, `"key":"owner"`},
		{"tag key", `"key":"group"`, `"key":"Group"`},
		{"tag value", `"thread-7"`, `"a\u202eb"`},
		{"archive with a worker", `"id":"p5","window":"w2",`, `"id":"p5","window":"w2","session_id":"00000000-0000-4000-8000-00000000000f",`},
		{"no worker and no archive", `,"archive":{"checkpoint":"c01234567-89ab-4cde-8fab-0123456789ab","previous_pane":"p7","process_state":"interrupted","text_state":"plain","cut_rows":0}`, ``},
		{"archive that lives", `"end":{},"tags":[{"key":"owner","value":"test"}],"archive"`, `"tags":[{"key":"owner","value":"test"}],"archive"`},
		{"checkpoint", `"c01234567-89ab-4`, `"c01234567-89ab-1`},
		{"process state", `"interrupted"`, `"running"`},
		{"text state", `"plain"`, `"bold"`},
		{"cut rows of no text", `"text_state":"plain","cut_rows":0`, `"text_state":"omitted","cut_rows":1`},
		{"unknown member", `"version":3`, `"version":3,"x":1`},
		{"double member", `"name":"build"`, `"name":"build","name":"b"`},
		{"other spelling", `"main"`, `"\u006dain"`},
		{"white space", `"version":3`, `"version": 2`},
		{"trailing bytes", "}}\n", "}}\n{}"},
	}
	src := string(golden(t, "v3.json"))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(src, c.old, c.new, 1)
			if bad == src {
				t.Fatal("the case changes nothing")
			}
			if tree, err := Decode([]byte(bad)); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("Decode = %+v, %v", tree, err)
			}
		})
	}
	for _, bad := range []string{"", "null", "[]", `{"version":3}`, `{"version":3,"tree":null}`} {
		if tree, err := Decode([]byte(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: Decode = %+v, %v", bad, tree, err)
		}
	}
}

func TestVersionOneIsReadStrictly(t *testing.T) {
	src := string(golden(t, "v1.json"))
	for name, c := range map[string][2]string{
		"pane id not given out":   {`"pane":3}`, `"pane":2}`},
		"window without pane":     {`"pane":"p2"`, `"pane":"p9"`},
		"pane in two windows":     {`"pane":"p2"`, `"pane":"p0"`},
		"window twice":            {`"id":"w2"`, `"id":"w0"`},
		"pane out of order":       {`"id":"p1"`, `"id":"p0"`},
		"worker twice":            {`000000000002`, `000000000001`},
		"session without windows": {`[{"id":"w1","name":"","pane":"p1"}]`, `[]`},
		"member of version 2":     {`"name":"adopted"`, `"name":"adopted","kept":true`},
		"double member":           {`"name":"build"`, `"name":"build","name":"b"`},
	} {
		bad := strings.Replace(src, c[0], c[1], 1)
		if bad == src {
			t.Fatalf("%s: the case changes nothing", name)
		}
		if tree, err := Decode([]byte(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Decode = %+v, %v", name, tree, err)
		}
	}
}

func TestOtherVersionsAreToldApart(t *testing.T) {
	for _, version := range []string{"0", "5", "-1"} {
		src := strings.Replace(string(golden(t, "v3.json")), `"version":3`, `"version":`+version+`,"more":[]`, 1)
		if _, err := Decode([]byte(src)); !errors.Is(err, ErrVersion) || errors.Is(err, ErrCorrupt) {
			t.Errorf("version %s: %v", version, err)
		}
	}
	if _, err := Decode(make([]byte, EncodedMax+1)); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("too long: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(golden(f, "v1.json"))
	f.Add(golden(f, "v2.json"))
	f.Add(golden(f, "v3.json"))
	f.Add(golden(f, "v4.json"))
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
		for _, w := range tree.Windows {
			requireCovered(t, tree, w, Size{80, 24})
		}
	})
}
