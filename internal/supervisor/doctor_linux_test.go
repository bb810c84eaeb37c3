// SPDX-License-Identifier: Apache-2.0

package supervisor_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor"
	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
	"spawn/web"
)

// options are those of a spawnd of the test's own: nothing of it is shared or stays.
func options(t *testing.T) supervisor.Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "sv") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if said, err := exec.Command("go", "build", "-o", dir+"/", "spawn/cmd/spawn-worker").CombinedOutput(); err != nil {
		t.Fatalf("build spawn-worker: %v: %s", err, said)
	}
	t.Cleanup(func() { endWorkers(t, dir+"/w") }) // spawnd lets them live
	env := map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": dir + "/c", "XDG_STATE_HOME": dir + "/s", "XDG_RUNTIME_DIR": dir + "/r", "SPAWND_WORKER_DIR": dir + "/w",
	}
	return supervisor.Options{
		Listen: "127.0.0.1:0", Getenv: func(name string) string { return env[name] }, WorkerPath: filepath.Join(dir, "spawn-worker"),
		App: web.Dist(), Version: "test", Log: slog.New(slog.DiscardHandler),
	}
}

// endWorkers ends the terminals that a spawnd which is gone has left in a worker folder.
func endWorkers(t *testing.T, path string) {
	t.Helper()
	folder, err := endpoint.OpenFolder(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer folder.Close()
	ctx, cancel := context.WithTimeout(context.Background(), endMax) // the test's own has ended
	defer cancel()
	left, _, err := fleet.New(fleet.Options{Folder: folder}).AdoptAll(ctx)
	if err != nil {
		t.Error(err)
	}
	var ending sync.WaitGroup
	for _, h := range left {
		ending.Go(func() {
			if err := h.Terminate(ctx); err != nil {
				t.Error(err)
			}
			h.Close()
		})
	}
	ending.Wait()
}

func errorsOf(r doctor.Report) []string {
	var out []string
	for _, one := range r.Results {
		if one.Status == doctor.Error {
			out = append(out, one.Name+": "+one.Message)
		}
	}
	return out
}

func statusOf(t *testing.T, r doctor.Report, check string) doctor.Result {
	t.Helper()
	i := slices.IndexFunc(r.Results, func(one doctor.Result) bool { return one.Name == check })
	if i < 0 {
		t.Fatalf("no check %s", check)
	}
	return r.Results[i]
}

// A spawnd that serves finds nothing wrong with itself, sees its terminals, and leaves them alone.
func TestDoctorLooksAtARunningSpawnd(t *testing.T) {
	o := options(t)
	s, err := supervisor.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	socket := dial.Socket{Path: o.Getenv("XDG_RUNTIME_DIR") + "/spawn/spawnd.sock", CheckPeer: endpoint.CheckPeer}
	var made verbs.PaneResult
	if err := socket.Call(t.Context(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "sleep 1000"}}, &made); err != nil {
		t.Fatal(err)
	}

	extra := doctor.Check{Name: "x.y", Probe: func(context.Context, doctor.Env) doctor.Finding {
		return doctor.Finding{Status: doctor.Warn, Message: "seen"}
	}}
	report, err := s.Doctor(t.Context(), doctor.Params{}, extra)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", report.Text())
	if wrong := errorsOf(report); len(wrong) > 0 {
		t.Errorf("it finds %v", wrong)
	}
	for check, says := range map[string]string{
		"worker.version": "1 terminal, able", "worker.key": "1 terminal with its key", "network.origin": "refuses strangers", "worker.canary": "outlived", "x.y": "seen",
	} {
		if r := statusOf(t, report, check); !strings.Contains(r.Message, says) {
			t.Errorf("%+v, want %q", r, says)
		}
	}

	var list verbs.PaneListResult
	if err := socket.Call(t.Context(), verbs.PaneList, verbs.Empty{}, &list); err != nil || len(list.Panes) != 1 || list.Panes[0].State != verbs.PaneRunning {
		t.Fatalf("after the doctor: %+v, %v", list.Panes, err)
	}
	if err := socket.Call(t.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: made.Pane.ID}, &verbs.Empty{}); err != nil {
		t.Fatal(err)
	}
}

func TestExamineNeedsNoSpawndAndMakesNothing(t *testing.T) {
	o := options(t)
	report, err := supervisor.Examine(t.Context(), o, doctor.Params{Checks: []string{"settings.file", "folder.state", "network.origin", "clock.wall"}})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := errorsOf(report); len(wrong) > 0 || len(report.Results) != 4 {
		t.Errorf("it finds %v in %+v", wrong, report)
	}
	for _, folder := range []string{"c", "s", "r", "w"} {
		if _, err := os.Stat(filepath.Join(o.Getenv("HOME"), folder)); err == nil {
			t.Errorf("%s was made", folder)
		}
	}
	if r := statusOf(t, report, "folder.state"); r.Status != doctor.Info {
		t.Errorf("%+v", r)
	}
}
