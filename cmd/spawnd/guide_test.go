// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"spawn/docs"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
)

// The script of the guide does what the guide says, as it stands there.
func TestTheGuidesScriptRunsThreeAgents(t *testing.T) {
	_, rest, _ := strings.Cut(docs.Agents, "```sh\n")
	script, _, found := strings.Cut(rest, "```\n")
	if !found || strings.Contains(rest[len(script)+4:], "```sh") {
		t.Fatal("the guide has one script")
	}
	h := newMCPHost(t)
	h.shell("/bin/bash")
	h.serve()
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("/bin/sh", "script")
	sh.Dir, sh.Stderr = work, os.Stderr
	sh.Env = append(h.env, "PATH="+binaries+":"+os.Getenv("PATH"), "AGENT=printf 'answer to: %s\\n'")
	out, err := sh.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"tests", "docs", "names"} {
		if !strings.Contains(string(out), name+`: {"output":"answer to: find `) {
			t.Errorf("%s has no result in %s", name, out)
		}
		src, err := os.ReadFile(filepath.Join(work, name+".json"))
		var r verbs.PaneRunResult
		if err == nil {
			err = strictjson.Unmarshal([]byte(strings.TrimSpace(string(src))), &r)
		}
		if err != nil || r.ExitCode == nil || *r.ExitCode != 0 || !strings.HasPrefix(r.Output, "answer to: find ") {
			t.Errorf("%s: %s, %v", name, src, err)
		}
	}
	if list, err := h.command("pane", "list").Output(); err != nil || strings.Count(string(list), "running") != 3 {
		t.Errorf("%s, %v", list, err)
	}
	for _, id := range []string{"p0", "p1", "p2"} {
		if out, err := h.command("pane", "close", "--pane", id).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// Every verb that the guide names is there, and so is every flag of pane.run and pane.wait that it uses.
func TestTheGuideNamesWhatThereIs(t *testing.T) {
	for _, name := range []string{verbs.PaneRun, verbs.PaneWait, verbs.PaneSend, verbs.PaneCapture, verbs.PaneSearch, verbs.PaneExport} {
		if _, ok := verbs.Lookup(name); !ok || !strings.Contains(docs.Agents, "`"+name) {
			t.Errorf("%s: served %t, named %t", name, ok, strings.Contains(docs.Agents, "`"+name))
		}
	}
	for _, code := range []verbs.Code{verbs.CodeNotAtPrompt, verbs.CodeNoMarks, verbs.CodeTimeout, verbs.CodeNoDaemon, verbs.CodeEnded} {
		if !strings.Contains(docs.Agents, "`"+string(code)+"`") {
			t.Errorf("the guide does not speak of %s", code)
		}
	}
}
