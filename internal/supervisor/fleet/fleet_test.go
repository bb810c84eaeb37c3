// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/descriptors"
)

func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), fakePrefix) {
		os.Exit(runFake())
	}
	// Descriptors that whoever started this process forgot to close: no worker may get them.
	if err := unix.Pipe2(make([]int, 2), 0); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(built.folder)
		os.Exit(code)
	}))
}

// house is one worker folder with fleets on it, and ends every worker at the test's end.
type house struct {
	t      *testing.T
	folder *endpoint.Folder
	fleets []*Fleet
	log    *bytes.Buffer
}

func newHouse(t *testing.T) *house {
	t.Helper()
	short, err := os.MkdirTemp("", "fleet") // t.TempDir would be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	folder, err := endpoint.OpenFolder(filepath.Join(short, "workers"))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, folder: folder, log: &bytes.Buffer{}}
	t.Cleanup(h.close)
	return h
}

// fleet has workers with the fault.
func (h *house) fleet(fault string) *Fleet {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.t.TempDir(), fakePrefix+fault)
	if err := os.Symlink(self, path); err != nil {
		h.t.Fatal(err)
	}
	return h.fleetOf(path)
}

func (h *house) fleetOf(worker string) *Fleet {
	f := New(Options{Folder: h.folder, WorkerPath: worker, Log: slog.New(slog.NewTextHandler(h.log, nil))})
	h.fleets = append(h.fleets, f)
	return f
}

// close kills what is left and wants every worker reaped.
func (h *house) close() {
	var detached sync.WaitGroup
	for _, f := range h.fleets {
		f.mu.Lock()
		for _, handle := range f.held {
			if handle != nil {
				killPeer(handle.conn)
				detached.Go(handle.Close)
			}
		}
		f.mu.Unlock()
	}
	detached.Wait()
	ids, _ := h.folder.Scan()
	for _, id := range ids { // those that nobody holds any more
		if conn, err := h.folder.Dial(context.Background(), id); err == nil {
			killPeer(conn)
			conn.Close()
		}
	}
	for _, f := range h.fleets {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if err := f.AwaitChildren(ctx); err != nil {
			h.t.Error(err)
		}
		cancel()
	}
	h.folder.Close()
}

func (h *house) files() []string {
	h.t.Helper()
	entries, err := os.ReadDir(h.folder.Path())
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var spec = Spec{Argv: []string{"/bin/sh"}, Env: []string{"A=b"}, Cols: 100, Rows: 30}

func (h *house) launch(f *Fleet) *Handle {
	h.t.Helper()
	handle, err := f.Launch(h.t.Context(), endpoint.NewSessionID(), spec)
	if err != nil {
		h.t.Fatal(err)
	}
	return handle
}

// next wants a frame of that kind.
func next(t *testing.T, h *Handle, want wire.Kind) string {
	t.Helper()
	k, p, err := h.Recv()
	if err != nil || k != want {
		t.Fatalf("Recv = %v %q, %v; want %v", k, p, err, want)
	}
	return string(p)
}

// inBackground receives until the connection ends, so that news of the end come through.
func inBackground(h *Handle) (done <-chan error) {
	ended := make(chan error, 1)
	go func() {
		for {
			if _, _, err := h.Recv(); err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended
}

func TestLaunchGivesADrivenTerminal(t *testing.T) {
	t.Setenv("SPAWN_TOKEN", "ambient")
	t.Setenv("GODEBUG", "madvdontneed=1")
	t.Setenv("GOTRACEBACK", "all")
	house := newHouse(t)
	h := house.launch(house.fleet("good"))
	if hello := h.Hello(); hello.Cols != 100 || hello.Rows != 30 || hello.State != wire.StateRunning || hello.SessionID != string(h.ID()) {
		t.Fatalf("hello %+v", hello)
	}
	given := next(t, h, wire.KindOutput)
	if !strings.Contains(given, "leader=true cwd=/ ") || !strings.Contains(given, `env=["GODEBUG=madvdontneed=1,asyncpreemptoff=1" "GOTRACEBACK=all"]`) {
		t.Errorf("the worker was given %s", given)
	}
	for _, fd := range strings.Fields(given) {
		name, target, ok := strings.Cut(fd, "=")
		if !ok || strings.Trim(name, "0123456789") != "" {
			continue
		}
		known := strings.HasPrefix(target, "socket:") || strings.HasPrefix(target, "anon_inode:") || target == "/dev/null" ||
			strings.HasPrefix(target, house.folder.Path()) || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/fs/cgroup/")
		if !known {
			t.Errorf("the worker holds descriptor %s", fd)
		}
	}
	if pid := h.WorkerPID(); pid == 0 || pid == os.Getpid() {
		t.Errorf("worker's pid is %d", pid)
	}
	if alive, err := h.Alive(); !alive || err != nil {
		t.Errorf("Alive = %v, %v", alive, err)
	}
}

func TestAFailedLaunchLeavesNothing(t *testing.T) {
	cases := []struct {
		fault, says string
		is          error
	}{
		{"words", `"no terminal\x1b[2J to be had"`, nil},
		{"die", "row B", nil},
		{"silent", "read HELLO", os.ErrDeadlineExceeded},
		{"garbled", "read HELLO", wire.ErrUnknownKind},
		{"early", "got OUTPUT first", nil},
		{"version", "6, ours is 5", wire.ErrVersion},
		{"session", "it names session", nil},
		{"unready", "await worker", context.DeadlineExceeded},
	}
	for _, c := range cases {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			house := newHouse(t)
			f := house.fleet(c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			id := endpoint.NewSessionID()
			h, err := f.Launch(ctx, id, spec)
			if h != nil || err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("Launch = %v, %v", h, err)
			}
			if names := house.files(); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
			select {
			case <-f.children.idle():
			default:
				t.Error("the worker is not reaped")
			}
			if f.holds(id) {
				t.Error("the id is still claimed")
			}
		})
	}
	t.Run("no such worker", func(t *testing.T) {
		house := newHouse(t)
		if _, err := house.fleetOf("/nonexistent/spawn-worker").Launch(t.Context(), endpoint.NewSessionID(), spec); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("Launch: %v", err)
		}
		if names := house.files(); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	})
	t.Run("bad spec", func(t *testing.T) {
		house := newHouse(t)
		if _, err := house.fleet("good").Launch(t.Context(), endpoint.NewSessionID(), Spec{Argv: []string{"x"}}); !errors.Is(err, wire.ErrPayload) {
			t.Fatalf("Launch: %v", err)
		}
	})
}

// What a killed worker left is removed when the last copy of its lock is gone, which may be in a child that was being forked.
func TestWhatAKilledWorkerLeftIsRemovedWhenItsLockIsFree(t *testing.T) {
	house := newHouse(t)
	f, id := house.fleetOf("/nowhere"), house.leftover()
	synctest.Test(t, func(t *testing.T) {
		elsewhere, err := house.folder.Reserve(id)
		if err != nil {
			t.Fatal(err)
		}
		swept := make(chan error, 1)
		go func() { swept <- f.sweepFreed(t.Context(), id) }()
		synctest.Wait() // it has tried
		if err := elsewhere.Release(); err != nil {
			t.Fatal(err)
		}
		if err := <-swept; err != nil {
			t.Error(err)
		}
	})
	if left := house.files(); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestALockThatIsNeverFreeIsNotWaitedForForEver(t *testing.T) {
	house := newHouse(t)
	f, id := house.fleetOf("/nowhere"), house.leftover()
	synctest.Test(t, func(t *testing.T) {
		elsewhere, err := house.folder.Reserve(id)
		if err != nil {
			t.Fatal(err)
		}
		defer elsewhere.Release()
		ctx, cancel := context.WithTimeout(t.Context(), abandonTimeout)
		defer cancel()
		if err := f.sweepFreed(ctx, id); !errors.Is(err, endpoint.ErrReserved) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestATerminalIsLaunchedOnce(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("good")
	h := house.launch(f)
	if _, err := f.Launch(t.Context(), h.ID(), spec); !errors.Is(err, ErrHeld) {
		t.Errorf("by the same fleet: %v", err)
	}
	if _, err := f.Adopt(t.Context(), h.ID()); !errors.Is(err, ErrHeld) {
		t.Errorf("adopted by the same fleet: %v", err)
	}
	if _, err := house.fleet("good").Launch(t.Context(), h.ID(), spec); !errors.Is(err, endpoint.ErrReserved) {
		t.Errorf("by another fleet: %v", err)
	}
	next(t, h, wire.KindOutput)
	if err := h.Input([]byte("still here")); err != nil {
		t.Fatal(err)
	}
	if got := next(t, h, wire.KindOutput); got != "still here" {
		t.Errorf("the terminal says %q", got)
	}
}

// failingScoper counts how often it is asked.
type failingScoper struct{ pids []int }

func (s *failingScoper) Adopt(_ context.Context, pid int, _ endpoint.SessionID, _ Limits) error {
	s.pids = append(s.pids, pid)
	return errors.New("no bus")
}

func TestWithoutAScopeATerminalStartsAllTheSame(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("good")
	s := &failingScoper{}
	f.scoper = s
	var want []int
	for range 3 {
		h := house.launch(f)
		want = append(want, h.WorkerPID())
		next(t, h, wire.KindOutput)
	}
	if !slices.Equal(s.pids, want) {
		t.Errorf("the scoper was asked for %v, the workers are %v", s.pids, want)
	}
	if n := strings.Count(house.log.String(), "no bus"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

// Limits that do not hold are told of every terminal that was to have them.
func TestATerminalWithoutItsLimitsIsNamed(t *testing.T) {
	for name, scoper := range map[string]Scoper{"the bus fails": &failingScoper{}, "no systemd": NoScope{}} {
		house := newHouse(t)
		f := house.fleet("good")
		f.scoper = scoper
		limited := spec
		limited.Limits.TasksMax = 100
		for range 2 {
			h, err := f.Launch(t.Context(), endpoint.NewSessionID(), limited)
			if err != nil {
				t.Fatal(err)
			}
			next(t, h, wire.KindOutput)
			if n := strings.Count(house.log.String(), "without its limits: it gets no scope of its own\" session="+string(h.ID())); n != 1 {
				t.Errorf("%s: %d times in %q", name, n, house.log)
			}
		}
		next(t, house.launch(f), wire.KindOutput)
		if n := strings.Count(house.log.String(), "without its limits"); n != 2 {
			t.Errorf("%s: %d terminals are named, one of them without limits to keep", name, n)
		}
	}
}

func TestAWorkersRuntimeIsNotInterrupted(t *testing.T) {
	for _, c := range []struct{ have, want []string }{
		{nil, []string{"GODEBUG=asyncpreemptoff=1"}},
		{[]string{"GOGC=50"}, []string{"GOGC=50", "GODEBUG=asyncpreemptoff=1"}},
		{[]string{"GODEBUG=asyncpreemptoff=0", "GOGC=50"}, []string{"GODEBUG=asyncpreemptoff=0,asyncpreemptoff=1", "GOGC=50"}},
	} {
		if got := withoutPreemption(slices.Clone(c.have)); !slices.Equal(got, c.want) {
			t.Errorf("of %q: %q", c.have, got)
		}
	}
}

// The last descriptors are kept for terminals that are there. A launch that would take of them leaves nothing behind, and the
// next one goes well when there are enough again.
func TestNoTerminalStartsOnTheLastDescriptors(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("good")
	first, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	lowest := uint64(first.Fd())
	first.Close()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: lowest + descriptors.Kept, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Launch(t.Context(), endpoint.NewSessionID(), spec); !errors.Is(err, ErrDescriptors) {
		t.Errorf("Launch: %v", err)
	}
	if names := house.files(); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	next(t, house.launch(f), wire.KindOutput)
}
