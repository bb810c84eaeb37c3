// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

// forked starts a worker with a fault that no launch would get past, and leaves it as a spawnd that died
// within the launch would.
func (h *house) forked(fault string) (endpoint.SessionID, *process) {
	h.t.Helper()
	id := endpoint.NewSessionID()
	p, err := h.fleet(fault).fork(id, LogBounds{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { p.kill(h.t.Context()) }) // runs before the house closes
	if err := p.awaitReady(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	return id, p
}

// leftover plants what a worker that was killed leaves.
func (h *house) leftover() endpoint.SessionID {
	h.t.Helper()
	id := endpoint.NewSessionID()
	r, err := h.folder.Reserve(id)
	if err != nil {
		h.t.Fatal(err)
	}
	ends, err := r.Listen()
	if err != nil {
		h.t.Fatal(err)
	}
	log := filepath.Join(h.folder.Path(), endpoint.ScrollbackName(id))
	if err := errors.Join(os.Mkdir(log, 0o700), os.WriteFile(filepath.Join(log, "seg-00000001.log"), nil, 0o600), r.Release()); err != nil {
		h.t.Fatal(err)
	}
	ends.Close() // without the reservation it removes no name
	return id
}

func (h *house) stop(pid int) {
	h.t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		h.t.Fatal(err)
	}
	var status unix.Siginfo
	// The stop is an event of the child; wait for it, so that the worker is stopped for certain.
	if err := unix.Waitid(unix.P_PID, pid, &status, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { unix.Kill(pid, unix.SIGCONT) })
}

func TestTheNextFleetAdoptsWhatTheLastOneLaunched(t *testing.T) {
	house := newHouse(t)
	first := house.fleet("good")
	h := house.launch(first)
	next(t, h, wire.KindOutput)
	if err := h.Resize(90, 40); err != nil {
		t.Fatal(err)
	}
	next(t, h, wire.KindOutput)
	was := h.Hello()
	pid := h.WorkerPID()
	h.Close()

	second := house.fleet("good")
	adopted, refused, err := second.AdoptAll(t.Context())
	if err != nil || len(adopted) != 1 || len(refused) != 0 {
		t.Fatalf("AdoptAll = %v, %v, %v", adopted, refused, err)
	}
	got := adopted[0]
	hello := got.Hello()
	if hello.InstanceID != was.InstanceID || got.ID() != h.ID() || hello.State != wire.StateRunning || hello.Cols != 90 || hello.Rows != 40 || got.WorkerPID() != pid {
		t.Fatalf("adopted %+v, launched %+v", hello, was)
	}
	if err := got.Input([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if said := next(t, got, wire.KindOutput); said != "hello" {
		t.Fatalf("the terminal says %q", said)
	}
	if again, refused, err := second.AdoptAll(t.Context()); err != nil || len(again)+len(refused) != 0 {
		t.Fatalf("a second AdoptAll = %v, %v, %v", again, refused, err)
	}
}

func TestRefusedWorkersAreLeftAlone(t *testing.T) {
	for fault, want := range map[string]struct {
		code Code
		says string
	}{
		"silent":  {CodeSilent, "read HELLO"},
		"garbled": {CodeGarbled, "unknown frame kind"},
		"early":   {CodeGarbled, "got OUTPUT first"},
		"version": {CodeVersion, "6, ours is 5"},
		"session": {CodeSession, "names session"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			house := newHouse(t)
			id, p := house.forked(fault)
			f := house.fleet("good")
			files := len(house.files())
			for range 2 {
				h, err := f.Adopt(t.Context(), id)
				refusal := (*Refusal)(nil)
				if h != nil || !errors.As(err, &refusal) || refusal.Code != want.code || refusal.ID != id || !refusal.Held() || !strings.Contains(err.Error(), want.says) {
					t.Fatalf("Adopt = %v, %v", h, err)
				}
			}
			if len(house.files()) != files {
				t.Errorf("files were removed: %v", house.files())
			}
			if err := unix.Kill(p.pid(), 0); err != nil {
				t.Errorf("the worker is gone: %v", err)
			}
		})
	}
}

func TestAnUnstartedWorkerIsDismissed(t *testing.T) {
	house := newHouse(t)
	id, p := house.forked("good")
	_, err := house.fleet("good").Adopt(t.Context(), id)
	refusal := (*Refusal)(nil)
	if !errors.As(err, &refusal) || refusal.Code != CodeUnstarted || refusal.Held() {
		t.Fatalf("Adopt: %v", err)
	}
	<-p.ended
	if names := house.files(); len(names) > 0 {
		t.Fatalf("left behind: %v", names)
	}
}

// A folder as a crash of the host's session leaves it: many leftovers, some stopped workers, some that
// are well. The stopped ones delay nobody, nobody kills them, and they are adopted once they go on.
func TestStoppedWorkersDelayNobody(t *testing.T) {
	house := newHouse(t)
	f := house.fleet("good")
	for n := range 8 {
		h := house.launch(f)
		next(t, h, wire.KindOutput)
		if n < 5 {
			house.stop(h.WorkerPID())
		}
		h.Close()
	}
	for range 200 {
		house.leftover()
	}
	heir := house.fleet("good")
	began := time.Now()
	adopted, refused, err := heir.AdoptAll(t.Context())
	took := time.Since(began)
	if err != nil || len(adopted) != 3 || len(refused) != 5 {
		t.Fatalf("adopted %d, refused %v, %v", len(adopted), refused, err)
	}
	for _, r := range refused {
		if r.Code != CodeSilent || !r.Held() {
			t.Errorf("refused: %v", r)
		}
	}
	t.Logf("200 leftovers, 5 stopped, 3 well: %v", took)
	if took > 2*time.Second+raceAllowance {
		t.Errorf("it took %v", took)
	}
	locks, err := house.folder.Scan()
	if err != nil || len(locks) != 8 || len(house.files()) != 8*3 {
		t.Errorf("%d locks and %d files are left, %v", len(locks), len(house.files()), err)
	}
	for _, r := range refused {
		unix.Kill(pidOf(t, house, r.ID), unix.SIGCONT)
	}
	adopted, refused, err = heir.AdoptAll(t.Context())
	if err != nil || len(adopted) != 5 || len(refused) != 0 {
		t.Fatalf("after CONT: adopted %d, refused %v, %v", len(adopted), refused, err)
	}
}

// pidOf asks the kernel who listens on a worker's socket, which a stopped worker cannot refuse.
func pidOf(t *testing.T, h *house, id endpoint.SessionID) int {
	t.Helper()
	conn, err := h.folder.Dial(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return peerPID(conn)
}

func TestForeignObjectsStay(t *testing.T) {
	house := newHouse(t)
	id := house.leftover()
	canary := filepath.Join(house.folder.Path(), string(id)+".sock")
	if err := errors.Join(os.Remove(canary), os.WriteFile(canary, []byte("canary"), 0o600)); err != nil {
		t.Fatal(err)
	}
	adopted, refused, err := house.fleet("good").AdoptAll(t.Context())
	if err != nil || len(adopted) != 0 || len(refused) != 1 || refused[0].Code != CodeUnswept || refused[0].Held() {
		t.Fatalf("AdoptAll = %v, %v, %v", adopted, refused, err)
	}
	if text, err := os.ReadFile(canary); err != nil || string(text) != "canary" {
		t.Fatalf("the planted file holds %q, %v", text, err)
	}
}

func TestAnEndedWorkerIsSwept(t *testing.T) {
	house := newHouse(t)
	id := house.leftover()
	_, err := house.fleet("good").Adopt(t.Context(), id)
	refusal := (*Refusal)(nil)
	if !errors.As(err, &refusal) || refusal.Code != CodeEnded || refusal.Held() {
		t.Fatalf("Adopt: %v", err)
	}
	if names := house.files(); len(names) > 0 {
		t.Fatalf("left behind: %v", names)
	}
}
