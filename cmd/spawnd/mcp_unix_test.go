// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"spawn/internal/supervisor/verbs"
)

// mcpHost is a spawnd with folders of its own.
type mcpHost struct {
	*testing.T
	dir string
	env []string
}

func newMCPHost(t *testing.T) *mcpHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "sp") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	h := &mcpHost{t, dir, append(os.Environ(),
		"XDG_CONFIG_HOME="+dir+"/c", "XDG_STATE_HOME="+dir+"/s", "XDG_RUNTIME_DIR="+dir+"/r", "SPAWND_WORKER_DIR="+dir+"/w", "SPAWN_TOKEN=")}
	if err := os.Mkdir(dir+"/r", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return h
}

func (h *mcpHost) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binaries, "spawnd"), args...)
	cmd.Env = h.env
	return cmd
}

// shell makes a program the one of new terminals.
func (h *mcpHost) shell(path string) {
	h.Helper()
	folder := filepath.Join(h.dir, "c", "spawn")
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "config.hujson"), []byte(`{"shell": {"command": ["`+path+`"]}}`), 0o600)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// serve runs a spawnd until the test ends.
func (h *mcpHost) serve() {
	h.Helper()
	cmd := h.command("serve", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			h.Errorf("spawnd: %v", err)
		}
	})
}

func (h *mcpHost) connect(ctx context.Context) *mcp.ClientSession {
	h.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: h.command("mcp")}, nil)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		if err := session.Close(); err != nil {
			h.Errorf("spawnd mcp: %v", err)
		}
	})
	return session
}

func (h *mcpHost) callTool(ctx context.Context, s *mcp.ClientSession, name string, arguments any) (string, bool) {
	h.Helper()
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		h.Fatalf("%s: %v", name, err)
	}
	if len(result.Content) != 1 {
		h.Fatalf("%s: %d contents", name, len(result.Content))
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

func TestMCPDrivesARealShell(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	h := newMCPHost(t)
	h.serve()
	s := h.connect(ctx)
	done := filepath.Join(h.dir, "done")
	if err := syscall.Mkfifo(done, 0o600); err != nil {
		t.Fatal(err)
	}
	made, failed := h.callTool(ctx, s, "pane_new", map[string]any{"argv": []string{"/bin/sh", "-c", `echo "$((6 * 7))" > "$1"; exec cat`, "sh", done}, "name": "from a model"})
	if failed || !strings.Contains(made, `"pane":{"id":"p0"`) {
		t.Fatal(made)
	}
	if said, err := os.ReadFile(done); err != nil || string(said) != "42\n" { // opening waits for the shell
		t.Fatalf("the shell said %q, %v", said, err)
	}
	if list, failed := h.callTool(ctx, s, "pane_list", nil); failed || !strings.Contains(list, `"name":"from a model"`) {
		t.Error(list)
	}
	if closed, failed := h.callTool(ctx, s, "pane_close", map[string]any{"pane": "p0"}); failed || closed != "{}" {
		t.Error(closed)
	}
	for name, c := range map[string]struct {
		arguments any
		code      string
	}{
		"pane_close":  {map[string]any{"pane": "p0"}, "not_found.pane"},
		"viewer_list": {map[string]any{"pane": "p0", "more": 1}, "invalid.params"},
		"pane_rename": {map[string]any{"pane": "p0"}, "invalid.params"},
	} {
		if text, failed := h.callTool(ctx, s, name, c.arguments); !failed || !strings.Contains(text, `{"error":{"code":"`+c.code+`"`) {
			t.Errorf("%s: %t %s", name, failed, text)
		}
	}
}

// A model runs a command in a shell, types into a program and reads what it shows.
func TestMCPRunsACommandAndReadsItsResult(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	h := newMCPHost(t)
	h.shell("/bin/bash")
	h.serve()
	s := h.connect(ctx)
	defer h.callTool(ctx, s, "pane_close", map[string]any{"pane": "p0"})
	if made, failed := h.callTool(ctx, s, "pane_new", nil); failed {
		t.Fatal(made)
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"pane_run", map[string]any{"command": "echo \"$((6 * 7))\"\n(exit 3)"}, `{"output":"42\n","cut":false,"exit_code":3,`},
		{"pane_send", map[string]any{"text": "echo rea''dy; cat"}, `{"bytes":17}`},
		{"pane_send", map[string]any{"keys": []string{"Enter"}}, `{"bytes":1}`},
		{"pane_wait", map[string]any{"regex": "^ready$"}, `{"line":"ready",`}, // from here on the command runs
		{"pane_send", map[string]any{"text": "from a model\r"}, `{"bytes":13}`},
		{"pane_wait", map[string]any{"regex": "^from a model$"}, `{"line":"from a model",`},
		{"pane_run", map[string]any{"command": "true"}, `{"error":{"code":"conflict.not_at_prompt"`},
		{"pane_capture", map[string]any{"format": "plain"}, `"from a model"`},
	} {
		c.arguments["pane"] = "p0"
		if text, failed := h.callTool(ctx, s, c.tool, c.arguments); !strings.Contains(text, c.want) || failed != strings.Contains(c.want, "error") {
			t.Errorf("%s %v: %s", c.tool, c.arguments, text)
		}
	}
}

func TestMCPHasAToolForEachVerbThatAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := newMCPHost(t).connect(ctx)
	listed, err := s.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*mcp.Tool{}
	for _, tool := range listed.Tools {
		tools[tool.Name] = tool
	}
	for _, v := range verbs.Table() {
		name := strings.ReplaceAll(v.Name, ".", "_")
		tool := tools[name]
		delete(tools, name)
		switch {
		case (v.Stream || v.Lines) && tool == nil:
		case v.Stream || v.Lines || tool == nil:
			t.Errorf("%s: a tool %t, a stream %t", v.Name, tool != nil, v.Stream || v.Lines)
		case tool.Annotations.ReadOnlyHint != v.ReadsOnly(), *tool.Annotations.DestructiveHint != (v.Own || v.Right == verbs.RightAdmin || v.Right == verbs.RightWrite):
			t.Errorf("%s needs %s and says %+v", v.Name, v.Right, tool.Annotations)
		case len(tool.InputSchema.(map[string]any)["properties"].(map[string]any)) != len(v.Params.Members):
			t.Errorf("%s takes %v", v.Name, tool.InputSchema)
		}
	}
	if len(tools) > 0 {
		t.Errorf("tools of no verb: %v", tools)
	}
}

func TestMCPActsAsWhoRunsIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h := newMCPHost(t)
	h.serve()
	h.env = append(h.env, "SPAWN_TOKEN=stale")
	if text, failed := h.callTool(ctx, h.connect(ctx), "pane_list", nil); !failed || !strings.Contains(text, "denied.token") {
		t.Error(text)
	}
}

func TestMCPToldOfNoSpawndSaysSo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h := newMCPHost(t)
	if text, failed := h.callTool(ctx, h.connect(ctx), "server_info", nil); !failed || !strings.Contains(text, "unavailable.daemon") {
		t.Error(text)
	}
}

// Standard output has messages of the protocol and nothing else, and the end of the input ends the command.
func TestMCPKeepsItsOutputClean(t *testing.T) {
	h := newMCPHost(t)
	cmd := h.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if _, err := io.WriteString(in, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(io.LimitReader(out, 1<<20))
	answer, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("spawnd mcp: %v", err)
	}
	for line := range strings.Lines(answer + string(rest)) {
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0",`) {
			t.Errorf("on standard output: %q", line)
		}
	}
}

// A call that its caller takes back answers that nobody knows what became of it, and what it began goes on.
func TestMCPToldToStopSaysWhatIsKnown(t *testing.T) {
	h := newMCPHost(t)
	h.shell("/bin/bash")
	h.serve()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	s := h.connect(ctx)
	defer h.callTool(ctx, s, "pane_close", map[string]any{"pane": "p0"})
	if made, failed := h.callTool(ctx, s, "pane_new", nil); failed {
		t.Fatal(made)
	}
	began := filepath.Join(h.dir, "began")
	if err := syscall.Mkfifo(began, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := h.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	say := func(lines ...string) {
		for _, line := range lines {
			if _, err := io.WriteString(in, line+"\n"); err != nil {
				t.Error(err)
			}
		}
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pane_run","arguments":{"pane":"p0","command":"echo began >`+began+`; cat"}}}`)
	if said, err := os.ReadFile(began); err != nil || string(said) != "began\n" { // opening waits for the shell
		t.Fatalf("the shell said %q, %v", said, err)
	}
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	lines := bufio.NewReader(io.LimitReader(out, 1<<20))
	for answer := ""; !strings.Contains(answer, `"id":2`); {
		if answer, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(answer, `"id":2`) && !strings.Contains(answer, "unavailable.outcome") {
			t.Error(answer)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("spawnd mcp: %v", err)
	}
	if text, failed := h.callTool(ctx, s, "pane_run", map[string]any{"pane": "p0", "command": "true"}); !failed || !strings.Contains(text, "conflict.not_at_prompt") {
		t.Errorf("it does not go on: %s", text)
	}
}
