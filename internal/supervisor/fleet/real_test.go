// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/config"
)

// built is the folder with the real worker, made once for all tests and removed by TestMain.
var built struct {
	once   sync.Once
	folder string
	err    error
}

func realWorker(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "worker"); built.err != nil {
			return
		}
		if said, err := exec.Command("go", "build", "-o", built.folder, "spawn/cmd/spawn-worker").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build spawn-worker: %w: %s", err, said)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.folder, "spawn-worker")
}

func shell(script string) Spec {
	return Spec{Argv: []string{"/bin/sh", "-c", script}, Cwd: "/", Env: []string{"PATH=/usr/bin:/bin", "TERM=xterm-256color"}, Cols: 80, Rows: 24}
}

func (h *house) start(f *Fleet, script string) *Handle {
	h.t.Helper()
	handle, err := f.Launch(h.t.Context(), endpoint.NewSessionID(), shell(script))
	if err != nil {
		h.t.Fatal(err)
	}
	return handle
}

// until receives until the output holds the text, and returns all of it.
func until(t *testing.T, h *Handle, text string) string {
	t.Helper()
	var out bytes.Buffer
	for !strings.Contains(out.String(), text) {
		k, p, err := h.Recv()
		if err != nil {
			t.Fatalf("before %q came %q: %v", text, out.String(), err)
		}
		if k == wire.KindOutput {
			out.Write(p)
		}
	}
	return out.String()
}

// exitOf receives until EXIT.
func exitOf(t *testing.T, h *Handle) wire.Exit {
	t.Helper()
	for {
		k, p, err := h.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if k != wire.KindExit {
			continue
		}
		e, err := wire.DecodeExit(p)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func TestARealTerminal(t *testing.T) {
	house := newHouse(t)
	first := house.fleetOf(realWorker(t))
	h := house.start(first, `printf 'up %s\n' "$(stty size)"; while read -r line; do echo "got $line $(stty size)"; [ "$line" = bye ] && exit 7; done`)
	until(t, h, "up 24 80\r\n")
	if err := h.Input([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	until(t, h, "got one 24 80\r\n")
	h.Close()

	adopted, refused, err := house.fleetOf(realWorker(t)).AdoptAll(t.Context())
	if err != nil || len(adopted) != 1 || len(refused) != 0 {
		t.Fatalf("AdoptAll = %v, %v, %v", adopted, refused, err)
	}
	again := adopted[0]
	if hello := again.Hello(); hello.State != wire.StateRunning || hello.PID == 0 || hello.InstanceID != h.Hello().InstanceID {
		t.Fatalf("hello %+v", hello)
	}
	if err := again.Resize(100, 40); err != nil {
		t.Fatal(err)
	}
	if err := again.Input([]byte("bye\n")); err != nil {
		t.Fatal(err)
	}
	until(t, again, "got bye 40 100\r\n")
	if e := exitOf(t, again); e.ExitCode == nil || *e.ExitCode != 7 {
		t.Fatalf("exit %+v", e)
	}
	if err := again.Terminate(t.Context()); err != nil {
		t.Fatalf("Terminate after the end: %v", err)
	}
	again.Close()
	if err := first.AwaitChildren(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := house.files(); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestARealTerminalIsTerminated(t *testing.T) {
	for name, c := range map[string]struct{ script, signal string }{
		"by TERM": {`echo up; exec sleep 1000`, "SIGTERM"},
		"by KILL": {`trap '' TERM HUP; echo up; while :; do sleep 1000; done`, "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			house := newHouse(t)
			f := house.fleetOf(realWorker(t))
			h := house.start(f, c.script)
			until(t, h, "up")
			exit := make(chan wire.Exit, 1)
			go func() { exit <- exitOf(t, h) }()
			if err := h.Terminate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if e := <-exit; e.Signal != c.signal {
				t.Errorf("exit %+v", e)
			}
			h.Close()
			if err := f.AwaitChildren(t.Context()); err != nil {
				t.Fatal(err)
			}
			if names := house.files(); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

func TestAProgramThatCannotStartIsNoSuccess(t *testing.T) {
	house := newHouse(t)
	f := house.fleetOf(realWorker(t))
	h, err := f.Launch(t.Context(), endpoint.NewSessionID(), Spec{Argv: []string{"/nonexistent"}, Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	if e := exitOf(t, h); e.ExitCode != nil || e.Signal != "" {
		t.Fatalf("exit %+v", e)
	}
	h.Close()
}

// kill -9 of a worker ends that terminal, as lost, with nothing left; its shell goes with the terminal.
func TestARealWorkerKilledIsLost(t *testing.T) {
	house := newHouse(t)
	f := house.fleetOf(realWorker(t))
	h := house.start(f, `echo "pid $$ end"; exec cat`)
	said := until(t, h, " end")
	pid := strings.Fields(said[strings.Index(said, "pid "):])[1]
	if err := killPeer(h.conn); err != nil {
		t.Fatal(err)
	}
	for {
		k, _, err := h.Recv()
		if err != nil {
			break
		}
		if k == wire.KindExit {
			t.Fatal("an exit was told that nobody saw")
		}
	}
	if alive, err := h.Alive(); alive || err != nil {
		t.Fatalf("Alive = %v, %v", alive, err)
	}
	h.Close()
	if names := house.files(); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
	awaitGone(t, pid)
}

// awaitGone waits for the end of a process that is nobody's child here.
func awaitGone(t *testing.T, pid string) {
	t.Helper()
	look := time.NewTicker(lockPoll)
	defer look.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-look.C {
		if state, err := os.ReadFile("/proc/" + pid + "/stat"); err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
	}
	t.Errorf("the shell %s lives on", pid)
}

// The bounds of a terminal's log reach its worker: a lowered log replays less, what the settings admit a worker takes, and what
// they refuse it refuses too.
func TestLogBoundsReachTheWorker(t *testing.T) {
	house := newHouse(t)
	f := house.fleetOf(realWorker(t))
	launch := func(bounds LogBounds) (*Handle, error) {
		spec := shell(`seq 1 20000; echo the-end; read -r line`)
		spec.Log = bounds
		return f.Launch(t.Context(), endpoint.NewSessionID(), spec)
	}
	replayed := func(bounds LogBounds) int {
		t.Helper()
		h, err := launch(bounds)
		if err != nil {
			t.Fatalf("%+v: %v", bounds, err)
		}
		until(t, h, "the-end\r\n")
		if err := h.RequestReplay(wire.MaxFrameLen); err != nil {
			t.Fatal(err)
		}
		for {
			kind, p, err := h.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if kind == wire.KindReplay {
				return len(p)
			}
		}
	}
	largest, _ := config.Lookup("terminal.log_bytes")
	segment, _ := config.Lookup("terminal.log_segment_bytes")
	usual := replayed(LogBounds{})
	if n := replayed(LogBounds{Max: int(largest.Max), Segment: int(segment.Max)}); n < 100_000 || usual < 100_000 {
		t.Errorf("replays of %d bytes by default, %d at most", usual, n)
	}
	if n := replayed(LogBounds{Max: int(largest.Min)}); n > int(largest.Min)/2 || n < int(largest.Min)/8 {
		t.Errorf("a log of %d replays %d bytes", largest.Min, n)
	}
	if n := replayed(LogBounds{Max: int(largest.Min), Segment: int(segment.Min)}); n > int(largest.Min)/2 || n < int(largest.Min)/16 {
		t.Errorf("a log of %d in segments of %d replays %d bytes", largest.Min, segment.Min, n)
	}
	for _, bounds := range []LogBounds{{Max: int(largest.Max) + 1}, {Segment: int(segment.Max) + 1}} {
		if _, err := launch(bounds); err == nil {
			t.Errorf("a worker takes %+v", bounds)
		}
	}
}
