// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"spawn/docs"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/config"
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
	for _, name := range []string{
		verbs.PaneRun, verbs.PaneWait, verbs.PaneSend, verbs.PaneCapture, verbs.PaneSearch, verbs.PaneExport,
		verbs.PaneRelaunch, verbs.RecoveryRestore, verbs.RecoveryCheckpoint, verbs.RecoveryForget, verbs.RecoveryList,
	} {
		if _, ok := verbs.Lookup(name); !ok || !strings.Contains(docs.Agents, "`"+name) {
			t.Errorf("%s: served %t, named %t", name, ok, strings.Contains(docs.Agents, "`"+name))
		}
	}
	for _, code := range []verbs.Code{
		verbs.CodeNotAtPrompt, verbs.CodeNoMarks, verbs.CodeTimeout, verbs.CodeNoDaemon, verbs.CodeEnded,
		verbs.CodeNotEmpty, verbs.CodeRecoveryIO, verbs.CodeNoPane,
	} {
		if !strings.Contains(docs.Agents, "`"+string(code)+"`") {
			t.Errorf("the guide does not speak of %s", code)
		}
	}
}

// The guide tells every exit code that there is, with the class of errors that it stands for.
func TestTheGuideTellsEveryExitCode(t *testing.T) {
	_, list, _ := strings.Cut(docs.Agents, "the exit code is the error's class:")
	list, _, _ = strings.Cut(list, "anything else.")
	list = strings.Join(strings.Fields(list), " ")
	told := map[int]bool{}
	for _, c := range verbs.Codes() {
		class, _, _ := strings.Cut(string(c.Code), ".")
		exit := c.Code.Exit()
		told[exit] = true
		if exit == 1 || class == "invalid_params" { // the rest, and the class of the recovery specification that ends as invalid does
			continue
		}
		if want := fmt.Sprintf("%d %s,", exit, strings.ReplaceAll(class, "_", " ")); !strings.Contains(list, want) {
			t.Errorf("%s: the guide does not say %q: %q", c.Code, want, list)
		}
	}
	if !told[1] || !told[10] || !strings.HasSuffix(list, "and 1") {
		t.Errorf("%v: %q", told, list)
	}
}

// That text is kept is opt-in, which the guide says with the setting's own name and values.
func TestTheGuideSaysThatTextIsOptIn(t *testing.T) {
	const key = "recovery.terminal_text"
	if config.Default().Recovery.TerminalText != config.TextOff {
		t.Error("text is kept by default")
	}
	_, rule, _ := strings.Cut(docs.Agents, "* **Kept text is a person's choice.**")
	rule, _, _ = strings.Cut(rule, "\n* ")
	for _, want := range []string{"`" + key + "`", "`plain`", "`off` otherwise", "secrets", "expires", "Do not"} {
		if !strings.Contains(rule, want) {
			t.Errorf("the rule does not say %q: %q", want, rule)
		}
	}
}
