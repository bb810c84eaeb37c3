// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// patience is how long anything that should happen at once may take on a loaded machine.
const patience = 30 * time.Second

var binaries string // folder of the built programs

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "spawn-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	out, err := exec.Command("go", "build", "-o", dir+"/", "spawn/cmd/spawnd", "spawn/cmd/spawn-worker").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// TestScripts runs every script of testdata/script with real programs and folders of its own. Beside what
// testscript knows, a script may say:
//
//	serve             start a spawnd and wait until it is ready
//	exits N ARG...    run spawnd with the arguments and expect exit code N
//	viewer PANE NAME [--read-only]
//	                  attach a viewer of that name until the script ends
//	stream P IN WANT  become a viewer of pane P, type IN, and read until WANT has been put out
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
			for name, folder := range map[string]string{
				"HOME": "h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "s", "XDG_RUNTIME_DIR": "r", "SPAWND_WORKER_DIR": "w",
			} {
				path := filepath.Join(env.WorkDir, folder)
				env.Setenv(name, path)
				if folder != "w" {
					if err := os.Mkdir(path, 0o700); err != nil {
						return err
					}
				}
			}
			env.Setenv("SHELL", "/bin/sh")
			env.Setenv("ENV", "")
			env.Setenv("PS1", "$ ")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": scriptServe, "exits": scriptExits, "viewer": scriptViewer, "stream": scriptStream,
		},
	})
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: serve")
	}
	log := &logBuffer{}
	cmd := exec.Command(filepath.Join(binaries, "spawnd"), "serve", "--listen", "127.0.0.1:0")
	cmd.Env = environ(ts)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	if _, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = cmd.Wait()
		ts.Fatalf("spawnd ended before it was ready: %v\n%s", err, log)
	}
	ts.Defer(func() { stop(ts, cmd, log) })
}

// environ is the script's own.
func environ(ts *testscript.TestScript) []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "SPAWND_WORKER_DIR", "SHELL", "ENV", "PS1", "TMPDIR"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// stop closes every pane and ends spawnd. Its log may hold no mistake of ours.
func stop(ts *testscript.TestScript, cmd *exec.Cmd, log *logBuffer) {
	for _, p := range panesOf(ts) {
		kill := exec.Command(filepath.Join(binaries, "spawnd"), "kill", p.ID)
		kill.Env = environ(ts)
		if out, err := kill.CombinedOutput(); err != nil {
			ts.Logf("kill %s: %v: %s", p.ID, err, out)
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			ts.Fatalf("spawnd ended with %v\n%s", err, log)
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
		ts.Fatalf("spawnd does not end\n%s", log)
	}
	if strings.Contains(log.String(), "does not declare") || strings.Contains(log.String(), `"level":"ERROR"`) {
		ts.Fatalf("spawnd says that something is wrong with it:\n%s", log)
	}
}

func panesOf(ts *testscript.TestScript) []verbs.Pane {
	list := exec.Command(filepath.Join(binaries, "spawnd"), "pane", "list", "--json")
	list.Env = environ(ts)
	out, err := list.Output()
	if err != nil {
		return nil // the script has ended spawnd itself
	}
	var result verbs.PaneListResult
	ts.Check(strictjson.Unmarshal(bytes.TrimSpace(out), &result))
	return result.Panes
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("spawnd", args[1:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("spawnd %s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func scriptViewer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: viewer PANE NAME [--read-only]")
	}
	socket := dial.Socket{Path: filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), "spawn", "spawnd.sock"), CheckPeer: endpoint.CheckPeer}
	stream, _, err := socket.Stream(context.Background(), verbs.PaneStreamParams{Pane: args[0], Name: args[1], ReadOnly: len(args) == 3})
	ts.Check(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	ts.Defer(func() { _ = stream.Close(); <-ended })
}

// scriptStream speaks the frames that follow pane.stream.
func scriptStream(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: stream PANE INPUT WANT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	socket := dial.Socket{Path: filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), "spawn", "spawnd.sock")}
	s, result, err := socket.Stream(ctx, verbs.PaneStreamParams{Pane: args[0], Cols: 100, Rows: 30, Take: true, Name: "script"})
	ts.Check(err)
	defer s.Close()
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	ts.Check(s.Input([]byte(args[1] + "\r")))
	var out []byte
	first := true
	for !bytes.Contains(out, []byte(args[2])) {
		kind, payload, err := s.Recv()
		if err != nil {
			ts.Fatalf("viewer %s: %v after %q", result.Viewer, err, out)
		}
		switch kind {
		case wire.KindReplay:
			first = false
		case wire.KindOutput:
			if first {
				ts.Fatalf("output came before the first snapshot")
			}
			out = append(out, payload...)
		}
	}
}

// logBuffer is a log that two goroutines share.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
