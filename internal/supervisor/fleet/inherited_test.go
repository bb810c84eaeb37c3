// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
)

const (
	concurrentLaunches = 100
	launchesAtOnce     = 20
	racers             = 4
)

// listing prints what a program has open, and the pid by which it is found.
const listing = `ls -l /proc/$$/fd; echo listed; exec sleep 1000`

// A hundred terminals start side by side while descriptors come and go in the same process: files, pipes, sockets,
// and the locks of sessions that are looked at. No worker holds one that is not its own, and no program has more
// than its terminal three times.
func TestNoWorkerInheritsWhatIsNotItsOwn(t *testing.T) {
	house := newHouse(t)
	f := house.fleetOf(realWorker(t))
	ctx, stop := context.WithCancel(t.Context())
	var racing sync.WaitGroup
	defer racing.Wait()
	defer stop()
	canaries := t.TempDir()
	for i := range racers {
		racing.Go(func() { house.openAndClose(ctx, filepath.Join(canaries, fmt.Sprint("canary", i))) })
	}
	places := make(chan struct{}, launchesAtOnce)
	var launching sync.WaitGroup
	for range concurrentLaunches {
		places <- struct{}{}
		launching.Go(func() {
			defer func() { <-places }()
			h, err := f.Launch(t.Context(), endpoint.NewSessionID(), shell(listing))
			if err != nil {
				t.Error(err)
				return
			}
			house.requireOwn(t, h)
		})
	}
	launching.Wait()
}

// openAndClose is the traffic beside which forks happen, as spawnd's own rooms make it.
func (h *house) openAndClose(ctx context.Context, canary string) {
	for ctx.Err() == nil {
		if file, err := os.Create(canary); err == nil {
			file.Close()
		}
		if a, b, err := os.Pipe(); err == nil {
			a.Close()
			b.Close()
		}
		if pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			unix.Close(pair[0])
			unix.Close(pair[1])
		}
		ids, _ := h.folder.Scan()
		for _, id := range ids {
			h.folder.Locked(id)
		}
	}
}

// requireOwn looks at what the worker and its program have open.
func (h *house) requireOwn(t *testing.T, handle *Handle) {
	t.Helper()
	said := untilOrFail(t, handle, "listed")
	for line := range strings.Lines(said) {
		name, target, ok := strings.Cut(line, " -> ")
		if !ok {
			continue
		}
		if fields := strings.Fields(name); !strings.Contains("012", fields[len(fields)-1]) || !strings.HasPrefix(target, "/dev/pts/") {
			t.Errorf("the program has %s", strings.TrimSpace(line))
		}
	}
	own := filepath.Join(h.folder.Path(), string(handle.ID()))
	folder := fmt.Sprintf("/proc/%d/fd", handle.WorkerPID())
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Error(err)
	}
	pipes := 0
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(folder, e.Name()))
		switch {
		case err != nil: // closed meanwhile
		case strings.HasPrefix(target, "pipe:"):
			pipes++
		case strings.Contains(target, "canary"), strings.HasSuffix(target, ".lock") && !strings.HasPrefix(target, own):
			t.Errorf("the worker has %s", target)
		}
	}
	if pipes > 0 {
		t.Errorf("the worker has %d pipes of others", pipes)
	}
}

// untilOrFail is until for a goroutine that is not the test's.
func untilOrFail(t *testing.T, h *Handle, text string) string {
	t.Helper()
	var out strings.Builder
	for !strings.Contains(out.String(), text) {
		_, p, err := h.Recv()
		if err != nil {
			t.Errorf("before %q came %q: %v", text, out.String(), err)
			return out.String()
		}
		out.Write(p)
	}
	return out.String()
}
