// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/unmet"
)

// mountStore puts a file system of its own over a folder until it is unmounted, or the test is over.
func mountStore(t *testing.T, path, options string) (unmount func()) {
	t.Helper()
	unmet.Root(t, "mount a file system")
	if err := unix.Mount("spawn-test", path, "tmpfs", 0, options+",mode=0700"); err != nil {
		unmet.Skip(t, "cannot mount a file system: %v", err)
	}
	unmount = sync.OnceFunc(func() {
		if err := unix.Unmount(path, 0); err != nil {
			t.Errorf("unmount %s: %v", path, err)
		}
	})
	t.Cleanup(unmount)
	return unmount
}

// A file system that takes no more costs a terminal its history and nothing else: each byte of output arrives, the supervisor
// is told once, a replay is unavailable and never a part of the truth, the screen can still be had, and what was told of the
// history before is a beginning of it. At the end nothing is left behind that could be removed, and what could not be is found by its
// lock file when it can.
func TestWorkerOnAFullFileSystem(t *testing.T) {
	const lines = 20_000
	whole := new(strings.Builder)
	for i := range lines {
		fmt.Fprintf(whole, "line %d of many\r\n", i+1)
	}
	for name, c := range map[string]struct {
		options string // of the file system; "" is the one that is there
		log     bool   // only the log's folder lies there, and keeps it from being removed
		shut    func(t *testing.T, p *process, store string)
	}{
		"bytes": {options: "size=256k"},
		// The folder, the lock, two sockets, the log's folder, and three of its files.
		"inodes": {options: "size=64m,nr_inodes=8"},
		"read-only": {options: "size=64m", log: true, shut: func(t *testing.T, p *process, store string) {
			if err := unix.Mount("", store, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				unmet.Skip(t, "cannot make a file system read-only: %v", err)
			}
		}},
		// In the middle of a record: the write is a short one, and the next one fails.
		"length of a file": {shut: func(t *testing.T, p *process, store string) {
			limit := unix.Rlimit{Cur: 10_001, Max: 10_001}
			if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			folder, id := openTestFolder(t), endpoint.NewSessionID()
			path, store := folder.Path(), folder.Path()
			if c.log {
				store = filepath.Join(path, endpoint.ScrollbackName(id))
				if err := os.Mkdir(store, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			unmount := func() {}
			if c.options != "" {
				unmount = mountStore(t, store, c.options)
			}
			if !c.log { // the folder that was open lies below now
				mounted, err := endpoint.OpenFolder(path)
				if err != nil {
					t.Fatal(err)
				}
				defer mounted.Close()
				folder = mounted
			}
			worker, err := workerBinary()
			if err != nil {
				t.Fatal(err)
			}
			p, complaint := executeFile(t, worker, nil, folder, id,
				"--session-id", id.String(), "--worker-dir", path, "--segment-bytes", "65536")
			if complaint != "" {
				t.Fatal(complaint)
			}
			if c.shut != nil {
				c.shut(t, p, store)
			}
			peer := dial(t, folder, id)
			peer.send(wire.AppendHistorySub(nil, true))
			peer.until(wire.KindHistory)
			peer.startScript(`stty -echo; i=0; seq 1 %d | sed 's/.*/line & of many/'; echo "the-end"; read -r x; echo "more-$x"; exec sleep 1000`, lines)
			peer.untilOutput("the-end\r\n")
			requireOnlyTheScreen(t, peer, whole.String()+"the-end\r\n")
			if !strings.HasPrefix(whole.String(), string(peer.history)) {
				t.Errorf("the history that was told is no beginning of the output: %q", tail(peer.history))
			}

			again := dial(t, folder, id)
			if again.hello.History {
				t.Error("HELLO promises history")
			}
			again.untilNotice(wire.NoticeHistoryLost, "")
			again.type_("typed\r")
			again.untilOutput("more-typed\r\n")
			p.cmd.Process.Signal(syscall.SIGTERM)
			again.exit()
			p.await()
			if c.log {
				requireSweepable(t, folder, id)
				unmount()
				if err := folder.Sweep(id); err != nil {
					t.Error(err)
				}
			}
			requireEmpty(t, folder)
		})
	}
}

// requireSweepable wants nothing of a session to be left but its log and the lock file, by which it is found.
func requireSweepable(t *testing.T, folder *endpoint.Folder, id endpoint.SessionID) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(folder.Path(), "*"))
	ids, failed := folder.Scan()
	if err := errors.Join(err, failed); err != nil || len(left) != 2 || !slices.Equal(ids, []endpoint.SessionID{id}) {
		t.Errorf("left behind: %v, found %v, %v", left, ids, err)
	}
}

// Space that comes back does not bring the history of a terminal back that has lost it, since a history with a hole would look
// whole. Each terminal that begins after that has one, at once. None of them ever stops.
func TestSpaceThatComesAndGoes(t *testing.T) {
	const cycles, recoverMax = 20, 2 * time.Second
	base := openTestFolder(t).Path()
	mountStore(t, base, "size=2m")
	folder, err := endpoint.OpenFolder(filepath.Join(base, "w"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Close)
	filler := filepath.Join(base, "filler")
	for cycle := range cycles {
		freed := time.Now()
		tw := launchIn(t, folder)
		p := tw.dial()
		p.send(wire.AppendHistorySub(nil, true))
		p.startScript(`stty -echo; echo ready; while read -r n; do seq -f 'line %%.0f of many' "$n"; echo "done-$n"; done`)
		p.untilOutput("ready\r\n")
		whole := "ready\r\n"
		show := func(lines int) {
			t.Helper()
			for i := range lines {
				whole += fmt.Sprintf("line %d of many\r\n", i+1)
			}
			whole += fmt.Sprintf("done-%d\r\n", lines)
			p.type_(fmt.Sprintf("%d\n", lines))
			for len(p.output) < len(whole) {
				p.next()
			}
		}
		show(500)
		_, stream := p.replay(everything)
		if history, _ := splitReplay(t, stream); history != string(p.history) || !strings.Contains(history, "line 400 ") {
			t.Fatalf("cycle %d: a history of %d bytes, %d were told", cycle, len(history), len(p.history))
		}
		if d := time.Since(freed); d > recoverMax {
			t.Errorf("cycle %d: a new terminal had its history after %v", cycle, d)
		}

		fillUp(t, filler)
		show(5000)
		requireOnlyTheScreen(t, p, whole)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		show(3)
		requireOnlyTheScreen(t, p, whole)
		tw.stop()
		tw.await()
	}
}

// fillUp makes a file that leaves no block free.
func fillUp(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

// requireOnlyTheScreen wants output to have arrived whole, and only the screen to be had of what came before.
func requireOnlyTheScreen(t *testing.T, p *peer, output string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(output, "\r\n"), "\r\n")
	if string(p.output) != output {
		t.Errorf("%d bytes of output arrived of %d", len(p.output), len(output))
	}
	if watermark, stream := p.replay(everything); stream != "" || watermark != uint64(len(p.output)) {
		t.Errorf("a replay without a log has %d bytes, watermark %d of %d", len(stream), watermark, len(p.output))
	}
	if _, screen := p.replay(0); !strings.Contains(screen, lines[len(lines)-1]) {
		t.Errorf("the screen is gone too: %q", screen)
	}
	lost := 0
	for _, f := range p.seen {
		if n, err := wire.DecodeNotice(f.payload); f.kind == wire.KindNotice && err == nil && n.Kind == wire.NoticeHistoryLost {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("told %d times that the history is lost", lost)
	}
}
