// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/loginenv"
)

// worker is the folder with the real worker, made once.
var worker struct {
	once   sync.Once
	folder string
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if worker.folder != "" {
		os.RemoveAll(worker.folder)
	}
	os.Exit(code)
}

func realWorker(t *testing.T) string {
	t.Helper()
	worker.once.Do(func() {
		if worker.folder, worker.err = os.MkdirTemp("", "worker"); worker.err != nil {
			return
		}
		if said, err := exec.Command("go", "build", "-o", worker.folder, "spawn/cmd/spawn-worker").CombinedOutput(); err != nil {
			worker.err = errors.New(string(said))
		}
	})
	if worker.err != nil {
		t.Fatal(worker.err)
	}
	return filepath.Join(worker.folder, "spawn-worker")
}

// nest is a folder with a short path, as sockets need one, and it must be empty in the end.
func nest(t *testing.T) Nest {
	t.Helper()
	folder, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(folder)
	})
	return Nest{Folder: folder, WorkerPath: realWorker(t)}
}

func TestARealCanarySurvives(t *testing.T) {
	n := nest(t)
	if err := n.Survive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if listed, err := n.Capabilities(t.Context()); err != nil || !slices.Contains(listed, wire.CapHistory) {
		t.Fatalf("Capabilities = %v, %v", listed, err)
	}
}

// A folder that is fine for all else may leave no room for a canary's sockets.
func TestACanaryFindsAFolderThatIsShortEnough(t *testing.T) {
	n := nest(t)
	t.Setenv("TMPDIR", n.Folder)
	n.Folder = filepath.Join(t.TempDir(), strings.Repeat("x", endpoint.FolderPathMax))
	if err := n.Survive(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestACanaryThatCannotLiveIsToldAndLeavesNothing(t *testing.T) {
	script := func(t *testing.T, text string) string {
		path := filepath.Join(t.TempDir(), "worker")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Run("no worker", func(t *testing.T) {
		n := nest(t)
		n.WorkerPath = "/nonexistent"
		if err := n.Survive(t.Context()); err == nil || !strings.Contains(err.Error(), "launch") {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("a worker that dies", func(t *testing.T) {
		n := nest(t)
		n.WorkerPath = script(t, "exit 1\n")
		if err := n.Survive(t.Context()); err == nil || !strings.Contains(err.Error(), "launch") {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("no time", func(t *testing.T) {
		n := nest(t)
		n.WorkerPath = script(t, "exec sleep 1000\n")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := n.Survive(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("no folder", func(t *testing.T) {
		n := nest(t)
		n.Folder = "/dev/null/canary"
		if err := n.Survive(t.Context()); err == nil || !strings.Contains(err.Error(), "folder") {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("no folder yet", func(t *testing.T) {
		n := nest(t)
		n.Folder += "/new"
		if err := n.Survive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(n.Folder); err != nil { // and it is empty
			t.Fatal(err)
		}
	})
}

// What a killed doctor left is removed by a later one; a living one's, and a young one's, is not.
func TestOldNestsAreTidied(t *testing.T) {
	n := nest(t)
	long := time.Now().Add(-2 * canaryOld)
	at := map[string]string{}
	for _, name := range []string{"dead", "alive", "young", "other"} {
		path := filepath.Join(n.Folder, map[bool]string{true: "else-", false: canaryPrefix}[name == "other"]+name)
		folder, err := endpoint.OpenFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		id := endpoint.NewSessionID()
		reservation, err := folder.Reserve(id)
		if err != nil {
			t.Fatal(err)
		}
		if name == "alive" {
			defer reservation.Retire()
		} else if err := reservation.Release(); err != nil {
			t.Fatal(err)
		}
		if name != "young" {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
		at[name] = path
	}
	n.tidyOld()
	for name, stays := range map[string]bool{"dead": false, "alive": true, "young": true, "other": true} {
		if _, err := os.Stat(at[name]); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
		os.RemoveAll(at[name])
	}
}

// A canary that lost its doctor ends by itself: its song is over when its time is.
func TestTheSongEnds(t *testing.T) {
	short := strings.Replace(song, "sleep 60", "sleep 0", 1)
	if short == song {
		t.Fatal("the song has no end")
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", short)
	in, err := cmd.StdinPipe() // nobody types
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Run(); err == nil {
		t.Fatal("it ended by itself with success")
	}
}

// The whole table on this machine, with no spawnd: whatever it is, nothing of ours may be an error.
func TestARealRun(t *testing.T) {
	n := nest(t)
	account, err := loginenv.Current(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	folders := config.Folders{Config: t.TempDir(), State: t.TempDir(), Runtime: n.Folder}
	for _, path := range []string{folders.Config, folders.State} {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	report := Run(t.Context(), Env{
		Version: "test", Account: account, Folders: folders, WorkerDir: filepath.Join(n.Folder, "workers"), Effective: config.Default(),
		Settings: config.OpenFile(folders.Settings()), Files: Real{}, Limits: Real{}, Commands: Real{}, Network: Real{}, Canary: n,
		Clock: RealClock{time.Now()},
	})
	t.Logf("\n%s", report.Text())
	for _, r := range report.Results {
		if r.Status == Error {
			t.Errorf("%+v", r)
		}
		if strings.HasPrefix(r.Name, "systemd.") && r.Status != Info {
			if _, err := os.Stat(bootedFolder); err != nil {
				t.Errorf("no systemd is no fault, but: %+v", r)
			}
		}
	}
}

// The real probes tell what is from what is not.
func TestRealProbes(t *testing.T) {
	var r Real
	dir := t.TempDir()
	if err := os.Symlink("/nonexistent", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if st, err := r.Lstat(dir + "/link"); err != nil || st.Mode&os.ModeSymlink == 0 || st.UID != os.Geteuid() {
		t.Errorf("Lstat = %+v, %v", st, err)
	}
	if _, err := r.Stat(dir + "/link"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat of a dangling link: %v", err)
	}
	if at, err := r.Space(dir); err != nil || at.Free == 0 {
		t.Errorf("Space = %+v, %v", at, err)
	}
	if at, err := r.Space("/dev/shm"); err == nil && !at.Memory {
		t.Error("/dev/shm is not in memory")
	}
	if _, err := r.Space(dir + "/link"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Space of nothing: %v", err)
	}
	if err := r.Open("/dev/ptmx"); err != nil {
		t.Errorf("Open: %v", err)
	}
	if err := r.Open(dir + "/no"); err == nil {
		t.Error("opened nothing")
	}
	for _, l := range []Limit{OpenFiles, LockedMemory, Processes} {
		if soft, hard, err := r.Limit(l); err != nil || soft > hard {
			t.Errorf("limit %d: %d, %d, %v", l, soft, hard, err)
		}
	}
	if said, err := r.Run(t.Context(), "/bin/sh", "-c", "printf 'x%.0s' $(seq 1 9999)"); err != nil || len(said) != saidMax {
		t.Errorf("Run: %d bytes, %v", len(said), err)
	}
	if _, err := r.Run(t.Context(), "/bin/false"); err == nil {
		t.Error("false is a success")
	}
}

func TestRealNetwork(t *testing.T) {
	var r Real
	any := netip.MustParseAddrPort("127.0.0.1:0")
	for _, network := range []string{"udp", "tcp"} {
		if err := r.Loop(t.Context(), network, any); err != nil {
			t.Errorf("%s: %v", network, err)
		}
		if err := r.Loop(t.Context(), network, netip.MustParseAddrPort("192.0.2.1:0")); err == nil {
			t.Errorf("%s: bound an address of nobody's", network)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	if err := r.Reach(t.Context(), at); err != nil {
		t.Errorf("Reach: %v", err)
	}
	if err := r.Loop(t.Context(), "tcp", at); err == nil {
		t.Error("bound a port twice")
	}
	ln.Close()
	if err := r.Reach(t.Context(), at); err == nil {
		t.Error("reached nobody")
	}

	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Host != "a" || q.Header.Get("Origin") != "b" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer page.Close()
	on := netip.MustParseAddrPort(page.Listener.Addr().String())
	for origin, want := range map[string]int{"b": http.StatusOK, "": http.StatusTeapot} {
		if got, err := r.Ask(t.Context(), on, "a", origin); err != nil || got != want {
			t.Errorf("Ask: %d, %v", got, err)
		}
	}
}
