// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	shape := regexp.MustCompile(`^[a-z]+(\.[a-z_]+)?$`)
	for _, v := range table {
		if seen[v.Name] || !shape.MatchString(v.Name) || v.Summary == "" {
			t.Errorf("%+v", v)
		}
		seen[v.Name] = true
		if !v.Own && !slices.Contains(Rights(), v.Right) {
			t.Errorf("%s needs right %d", v.Name, v.Right)
		}
		for _, c := range v.Errors {
			if s, ok := c.spec(); !ok || s.Always || c.Exit() == 1 {
				t.Errorf("%s: code %s is not in the table, belongs to every verb, or has no class", v.Name, c)
			}
		}
		if v.On == "" {
			t.Errorf("%s says on nothing what its right is needed", v.Name)
		}
		if served := slices.ContainsFunc(table, func(s Verb) bool { return s.Name == v.Name }); !served {
			continue
		}
		if found, ok := Lookup(v.Name); !ok || found.Name != v.Name {
			t.Errorf("%s is not found", v.Name)
		}
		if err := v.CheckParams(v.Example); err != nil {
			t.Errorf("%s: its example: %v", v.Name, err)
		}
	}
}

// What a terminal shows goes to nobody who may not read there. A verb that spawns shows what it made itself.
func TestWhoeverSeesATerminalMayReadIt(t *testing.T) {
	for _, v := range table {
		if v.Result.ShowsTerminal() && v.Right != RightSpawn && !slices.Contains(v.rights(), RightRead) {
			t.Errorf("%s shows what a terminal holds and does not need read", v.Name)
		}
	}
}

func TestEveryFaultIsDeclared(t *testing.T) {
	for _, v := range table {
		for _, m := range v.Params.Members {
			if m.Fault != "" && !v.May(Code(m.Fault)) {
				t.Errorf("%s: %s has fault %s, which the row lacks", v.Name, m.Name, m.Fault)
			}
		}
	}
}

func TestCodesAreOneTable(t *testing.T) {
	seen := map[Code]bool{}
	for _, s := range Codes() {
		if seen[s.Code] || s.Meaning == "" || s.Code != CodeInternal && s.Code.Exit() == 1 {
			t.Errorf("%+v", s)
		}
		seen[s.Code] = true
		if declared := slices.ContainsFunc(table, func(v Verb) bool { return v.May(s.Code) }); !declared && !client[s.Code] {
			t.Errorf("no verb gives %s", s.Code)
		}
	}
	for _, k := range known {
		if !seen[k.code] {
			t.Errorf("%v has a code that is not in the table", k.err)
		}
	}
}

// client are codes that viewers get on ways of their own: in frames, or over spawn.ctl.
var client = map[Code]bool{CodeReadOnly: true, CodeNotController: true, CodeRequested: true, CodeNoRequest: true}

// book is an Identity and an Authority of a few lines.
type book map[string][]string // by token: "right resource"

type bookCaller string

func (c bookCaller) Principal() string { return "holder-" + string(c) }

func (b book) Identify(_ *net.UnixConn, token string) (Caller, error) {
	if _, ok := b[token]; !ok {
		return nil, errors.New("unknown: " + token)
	}
	return bookCaller(token), nil
}

func (b book) Check(c Caller, right Right, on Resource) error {
	if slices.Contains(b[string(c.(bookCaller))], fmt.Sprintf("%s %s", right, on)) {
		return nil
	}
	return errors.New("reasons that nobody is told")
}

func (b book) serve(t *testing.T) *running {
	return run(t, func(s *server) { s.o.Identity, s.o.Authority = b, b })
}

func TestRightsAreCheckedBeforeAnythingIsLookedUp(t *testing.T) {
	r := book{"": {"read pane:p1"}, "w": {"write pane:p1", "read pane:p1"}}.serve(t)
	p := r.dial()
	refused := func(right, resource, who string) string {
		return `"error":{"code":"denied.` + right + `","message":"` + right + ` on ` + resource + ` is not granted","data":{"principal":"holder-` + who + `","resource":"` + resource + `","right":"` + right + `"}}}`
	}
	for ask, want := range map[string]string{
		`"verb":"pane.close","params":{"pane":"p1"}`:                        refused("admin", "pane:p1", ""),
		`"verb":"pane.close","params":{"pane":"p9"}`:                        refused("admin", "pane:p9", ""), // the same though there is none
		`"verb":"pane.rename","params":{"pane":"p1","name":""}`:             refused("write", "pane:p1", ""),
		`"verb":"pane.rename","params":{"pane":"p1","name":""},"token":"w"`: `"ok":{`,
		`"verb":"pane.new"`:                                                  refused("spawn", "server:root", ""),
		`"verb":"server.info"`:                                               refused("read", "server:root", ""),
		`"verb":"pair.new","token":"w"`:                                      refused("admin", "server:root", "w"),
		`"verb":"pane.stream","params":{"pane":"p1"}`:                        refused("write", "pane:p1", ""),
		`"verb":"pane.list","token":"stale"`:                                 `"error":{"code":"denied.token","message":"the token is not one that this spawnd has issued","data":{}}}`,
		`"verb":"pane.close","params":{"pane":"p1","x":1},"token":"stale"`:   `"error":{"code":"denied.token"`,
		`"verb":"pane.close","params":{"pane":"p1","x":1}`:                   `"error":{"code":"invalid.params"`,
		`"verb":"viewer.list","params":{"pane":"p2"},"token":"w"`:            refused("read", "pane:p2", "w"),
		`"verb":"viewer.list","params":{"pane":"p1"},"token":"w"`:            `"ok":{`,
		`"verb":"pane.stream","params":{"pane":"p2","read_only":true}`:       refused("read", "pane:p2", ""),
		`"verb":"pane.rename","params":{"pane":"p2","name":""},"token":"w"`:  refused("write", "pane:p2", "w"),
		`"verb":"pane.rename","params":{"pane":"p1","name":"a"},"token":"w"`: `"ok":{`,
	} {
		if got := p.ask(`{"id":1,` + ask + `}`); !strings.HasPrefix(got, `{"id":1,`+want) {
			t.Errorf("%s\n got %s\nwant %s", ask, got, want)
		}
	}
	if r.server.killed || len(r.server.started) > 0 || len(r.server.viewers) > 0 {
		t.Error("something was done that nobody may")
	}
	if got := p.ask(`{"id":1,"verb":"pane.stream","params":{"pane":"p1","read_only":true}}`); !strings.HasPrefix(got, `{"id":1,"ok":`) {
		t.Error(got)
	}
}

func TestListLeavesOutWhatTheCallerMayNotRead(t *testing.T) {
	p := book{"": nil, "r": {"read pane:p1"}}.serve(t).dial()
	if got := p.ask(`{"id":1,"verb":"pane.list"}`); got != `{"id":1,"ok":{"panes":[]}}` {
		t.Error(got)
	}
	if got := p.ask(`{"id":1,"verb":"pane.list","token":"r"}`); !strings.HasPrefix(got, `{"id":1,"ok":{"panes":[{"id":"p1"`) {
		t.Error(got)
	}
}

func TestTheOwnerHasNoToken(t *testing.T) {
	p := run(t, nil).dial()
	if got := p.ask(`{"id":1,"verb":"pane.list","token":"x"}`); !strings.HasPrefix(got, `{"id":1,"error":{"code":"denied.token",`) {
		t.Error(got)
	}
}

// A code or data that a row does not declare is a mistake of ours, and the harness fails on its log line.
func TestAnUndeclaredErrorIsLogged(t *testing.T) {
	for _, c := range []struct {
		fails error
		want  bool
	}{
		{Errorf(CodeNoPane, "x"), false},
		{Errorf(CodeTimeout, "x"), false},
		{errors.New("x"), false},
		{Errorf(CodeFull, "x"), true},
		{Errorf("not_found.nothing", "x"), true},
		{Errorf(CodeNoPane, "x").With("pane", "p1"), true},
		{Errorf(denied(RightAdmin), "x").With("right", "admin"), false},
		{Errorf(denied(RightSpawn), "x"), true},
	} {
		r := run(t, nil)
		r.server.fails = c.fails
		r.dial().ask(`{"id":1,"verb":"pane.close","params":{"pane":"p1"}}`)
		if got := strings.Contains(r.log.String(), undeclared); got != c.want {
			t.Errorf("%v: logged %t, want %t", c.fails, got, c.want)
		}
		r.log.Reset() // this was on purpose
	}
}

// Whatever is not exactly the parameters of the verb is refused (T74), with the parameter named.
func TestParametersAreTakenStrictly(t *testing.T) {
	p := run(t, nil).dial()
	for params, param := range map[string]string{
		`null`: "", `[]`: "", `"p1"`: "", `{}`: "pane", `{"pane":null}`: "pane", `{"pane":1}`: "pane", `{"pane":["p1"]}`: "pane",
		`{"PANE":"p1"}`: "", `{"pane":"p1","Pane":"p1"}`: "", `{"pane":"p1 "}`: "pane", `{"pane":"p01"}`: "pane", `{"pane":"p\ud83d"}`: "json",
		`{"pane":"p1","pane":"p1"}`: "json", `{"pane":"p1","resume":{"stream":"S","position":"00"}}`: "resume.position",
		`{"pane":"p1","resume":{"stream":"S","position":"1","extra":1}}`: "resume", `{"pane":"p1","resume":{"position":"1"}}`: "resume.stream",
		`{"pane":"p1","history":1}`: "history", `{"pane":"p1","cols":0,"rows":1}`: "cols", `{"pane":"p1","cols":1.0,"rows":1}`: "cols",
		`{"pane":"p1","cols":1e1,"rows":1}`: "cols", `{"pane":"p1","cols":-0,"rows":1}`: "json", `{"pane":"p1","cols":1e400,"rows":1}`: "cols",
		`{"pane":"p1","cols":"1","rows":1}`: "cols", `{"pane":"p1","rows":1}`: "cols", `{"pane":"p1","read_only":true,"take":true}`: "take",
	} {
		got := p.ask(`{"id":1,"verb":"pane.stream","params":` + params + `}`)
		if param == "json" { // the line itself is no JSON of ours
			if !strings.HasPrefix(got, `{"id":0,"error":{"code":"invalid.json",`) {
				t.Errorf("%s: %s", params, got)
			}
			p = run(t, nil).dial()
			continue
		}
		if !strings.HasPrefix(got, `{"id":1,"error":{"code":"invalid.`) || !strings.HasSuffix(got, `"data":{"param":"`+param+`"}}}`) {
			t.Errorf("%s: %s", params, got)
		}
	}
}

// A token is no part of any answer, and of no log line.
func TestTokensStayWhereTheyAre(t *testing.T) {
	r := book{"": nil, "tok-EN": nil}.serve(t)
	p := r.dial()
	for _, token := range []string{"tok-EN", "tok-EN-stale"} {
		if got := p.ask(`{"id":1,"verb":"server.info","token":"` + token + `"}`); strings.Contains(strings.ReplaceAll(got, "holder-tok-EN", ""), "tok-EN") {
			t.Error(got)
		}
	}
	if strings.Contains(r.log.String(), "tok-EN") {
		t.Errorf("log: %s", r.log)
	}
}

// Whoever asks in another's name, as the tools do, passes on parameters that somebody else encoded.
func TestParametersThatOthersEncodedAreHeldToTheSameRules(t *testing.T) {
	v, _ := Lookup(PaneClose)
	if err := v.CheckParams(Raw(` {"pane" : "p0"} `)); err != nil {
		t.Error(err)
	}
	for _, src := range []string{``, `{"pane":"p0","pane":"p1"}`, `{"pane":"p0"} x`, `{"pane":"p0"`, `null`, "{\"pane\":\"p0\xff\"}"} {
		if err := v.CheckParams(Raw(src)); ExitCode(err) != 2 {
			t.Errorf("%q: %v", src, err)
		}
	}
}
