// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/vfs"
	"spawn/internal/sessiond/wire"
)

var errDisk = errors.New("injected fault of the disk")

// faultyOps are the file calls of a worker's life, each of which has to fail at least once. The log's own test finds them in
// the source; here are those that a terminal comes to.
var faultyOps = []vfs.Op{
	"folder.open", "scrollback.open", "scrollback.list", "directory.measure",
	"segment.create", "segment.append", "segment.measure", "segment.close", "segment.remove",
	"replay.open", "replay.read", "replay.close", "tail.open", "tail.read", "tail.close",
	"directory.close", "directory.remove", "folder.close",
}

// How many calls a life makes depends on how its output comes.
const (
	// livesPastTheEnd is how many lives in a row have to end before the call that is to fail.
	livesPastTheEnd = 8
	// passesMax is how often all of it is done when a call that a life makes once had another number each time.
	passesMax = 5
)

// Each file call of a terminal's life fails, once or from then on, or writes less than it should or says. Output goes on byte
// for byte, a replay and a capture have all of the history or none, its loss is told once, the program's end is told, and
// what stays behind is found and swept.
func TestTerminalOverAFaultyDisk(t *testing.T) {
	for _, c := range []struct {
		fault vfs.Fault
		ops   []vfs.Op
	}{
		{vfs.Fault{Mode: vfs.FailCall, Err: errDisk}, faultyOps},
		{vfs.Fault{Mode: vfs.ShortWrite, Err: errDisk, Keep: -1}, []vfs.Op{"segment.append"}},
		{vfs.Fault{Mode: vfs.LyingWrite, Keep: 7}, []vfs.Op{"segment.append"}},
	} {
		for _, c.fault.On = range []bool{false, true} {
			t.Run(fmt.Sprintf("mode %d on %v", c.fault.Mode, c.fault.On), func(t *testing.T) {
				folder, struck := openTestFolder(t), map[vfs.Op]bool{}
				spared := func(op vfs.Op) bool { return !struck[op] }
				for pass := 0; pass < passesMax && slices.ContainsFunc(c.ops, spared); pass++ {
					missed := 0
					for c.fault.At = 1; missed < livesPastTheEnd; c.fault.At++ {
						f := &faultyLife{t: t, fault: c.fault}
						hits := f.run(folder)
						for op := range hits {
							struck[op] = true
						}
						if missed++; len(hits) > 0 {
							missed = 0
						}
					}
				}
				if i := slices.IndexFunc(c.ops, spared); i >= 0 {
					t.Errorf("%s never failed; %v did", c.ops[i], slices.Sorted(maps.Keys(struck)))
				}
			})
		}
	}
}

// faultyLife is one terminal's life with one fault in it.
type faultyLife struct {
	t     *testing.T
	fault vfs.Fault
	want  string // all output so far
}

func (f *faultyLife) failf(format string, args ...any) {
	f.t.Helper()
	f.t.Errorf("call %d: %s", f.fault.At, fmt.Sprintf(format, args...))
}

// run returns which operations the fault struck.
func (f *faultyLife) run(folder *endpoint.Folder) map[vfs.Op]int {
	files := &vfs.Faulty{FS: vfs.OS{}, Fault: f.fault}
	tw, err := tryLaunch(f.t, folder, func(c *Config) { c.files, c.SegmentBytes = files, 4000 })
	if err == nil {
		f.live(tw)
		tw.stop()
		tw.awaitEnd()
		err = tw.err
	}
	if (err != nil) && !errors.Is(err, errDisk) {
		f.failf("%v, which is not the fault", err)
	}
	if err != nil {
		requireFound(f.t, fmt.Sprintf("call %d", f.fault.At), folder)
		if err := folder.Sweep(tw.id); err != nil {
			f.failf("cannot be swept: %v", err)
		}
	}
	requireEmpty(f.t, folder)
	return files.Hits()
}

// live runs a program that fills the log, wipes it, and fills it again.
func (f *faultyLife) live(tw *testWorker) {
	var block strings.Builder
	for i := range 40 {
		fmt.Fprintf(&block, "line %d of forty, and some more of it\n", i)
	}
	p := tw.dial()
	p.send(wire.AppendHistorySub(nil, true))
	p.until(wire.KindHistory)
	p.startSized(80, 5, []string{"/bin/sh", "-c", `stty -echo; echo ready
while read -r n; do case $n in bye) exit 3;; wipe) printf '\033[3J';; *) printf '%s\n' "$n" "$0";; esac; done`, strings.TrimSuffix(block.String(), "\n")})
	shown := strings.ReplaceAll(block.String(), "\n", "\r\n")
	f.expect(p, "ready\r\n")
	whole, none := 0, 0 // looks that had all of the history, and nothing
	for _, word := range []string{"one", "two", "wipe", "three", "four"} {
		p.type_(word + "\n")
		if word == "wipe" {
			f.expect(p, "\x1b[3J")
			continue
		}
		f.expect(p, word+"\r\n"+shown)
		for _, had := range []bool{f.replay(p), f.capture(p)} {
			if had {
				whole++
			} else {
				none++
			}
		}
	}
	again := f.requireToldOnce(tw, p, whole, none)
	again.type_("bye\n")
	if e := again.exit(); e.ExitCode == nil || *e.ExitCode != 3 {
		f.failf("exit %+v", e)
	}
	p.conn.Close()
	again.conn.Close()
}

// expect reads until as much output came as there has to be, and wants it to be that.
func (f *faultyLife) expect(p *peer, text string) {
	f.t.Helper()
	f.want += text
	for len(p.output) < len(f.want) {
		p.next()
	}
	if string(p.output) != f.want {
		f.t.Fatalf("call %d: output ends with %q, want %q", f.fault.At, tail(p.output), tail([]byte(f.want)))
	}
}

// replay reports whether a replay had the history, which then is all that was told.
func (f *faultyLife) replay(p *peer) bool {
	watermark, stream := p.replay(everything)
	if watermark != uint64(len(p.output)) {
		f.failf("watermark %d behind %d bytes", watermark, len(p.output))
	}
	if stream == "" {
		return false
	}
	if history, _ := splitReplay(f.t, stream); history != string(p.history) {
		f.failf("a replay has %d bytes of history, %d were told", len(history), len(p.history))
	}
	return true
}

// capture is the same of a capture.
func (f *faultyLife) capture(p *peer) bool {
	c := p.capture(wire.CaptureReq{What: wire.CaptureHistory, MaxRows: 1000, MaxBytes: 1 << 20})
	if c.Lost {
		if len(c.History) > 0 {
			f.failf("a lost history has %d rows", len(c.History))
		}
		return false
	}
	if got, want := len(c.History), strings.Count(string(p.history), "\r\n"); c.Clipped || got != want {
		f.failf("a capture has %d rows of history, %d were told, clipped %v", got, want, c.Clipped)
	}
	return true
}

// requireToldOnce wants a loss to be told, once to each connection, and nothing to be had then. It returns another connection.
func (f *faultyLife) requireToldOnce(tw *testWorker, p *peer, whole, none int) *peer {
	told := 0
	for _, seen := range p.seen {
		if n, err := wire.DecodeNotice(seen.payload); seen.kind == wire.KindNotice && err == nil && n.Kind == wire.NoticeHistoryLost {
			told++
		}
	}
	last := f.replay(p)
	again := tw.dial()
	switch {
	case told > 1 || again.hello.History == (told == 1):
		f.failf("told %d times, and then HELLO says %v", told, again.hello.History)
	case told == 1 && last:
		f.failf("a history that is lost is replayed")
	case told == 0 && none > 0 && f.fault.Mode == vfs.ShortWrite:
		f.failf("a short write was not told")
	case told == 0 && none > 1 && f.fault.Mode == vfs.FailCall && !f.fault.On:
		f.failf("one failing call, and %d looks had nothing, %d all", none, whole)
	}
	return again
}
