// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

// requireTakeover checks that a new peer wins over old, at once and completely.
func requireTakeover(t *testing.T, tw *testWorker, old *peer) {
	t.Helper()
	p := tw.dial()
	p.type_("after\r")
	p.untilOutput("got<after>")
	old.requireEnd()
}

const echoScript = `stty -echo; echo ready; while read -r line; do echo "got<$line>"; done`

func TestTakeoverWhileTheOldPeerIsIdle(t *testing.T) {
	tw := launch(t)
	old := tw.dial()
	old.startScript(echoScript)
	old.untilOutput("ready")
	requireTakeover(t, tw, old)
}

func TestTakeoverWhileTheOldPeerSitsInHalfAFrame(t *testing.T) {
	for cut := 1; cut < 12; cut += 3 {
		tw := launch(t)
		old := tw.dial()
		old.startScript(echoScript)
		old.untilOutput("ready")
		frame, _ := wire.AppendInput(nil, []byte("never whole\r"))
		old.send(frame[:cut], nil)
		requireTakeover(t, tw, old)
	}
}

// socketBytes is more than a Unix socket takes of a peer that does not read, on systems that have not been told otherwise.
const socketBytes = 288 << 10

func TestTakeoverWhileTheOldPeerDoesNotRead(t *testing.T) {
	tw := launch(t)
	old := tw.dial()
	old.startScript(`echo ready; while read -t 0 x; do :; done; i=0; while :; do i=$((i+1)); echo line-$i-; done`)
	awaitBlocked(t, tw)
	p := tw.dial()
	before, _ := p.replay(0)
	// All that the worker and the socket may have taken before the program had to wait.
	if most := uint64(heldBytesMax + socketBytes); before > most {
		t.Errorf("%d bytes were taken for a peer that reads nothing, want at most %d", before, most)
	}
	p.output = nil
	for len(p.output) < 4*outboxBytesMax { // it flows again
		p.next()
	}
	if after, _ := p.replay(0); after != before+uint64(len(p.output)) {
		t.Errorf("watermark went from %d to %d over %d bytes", before, after, len(p.output))
	}
}

// awaitBlocked waits until the program, whose output nobody reads, can write no more: everything on its way is full.
func awaitBlocked(t *testing.T, tw *testWorker) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		awaitNoProgress(t, tw.pid())
		if tw.w.ring.queued() == ringBytes {
			return
		}
	}
	t.Fatal("the program is not held back")
}

func TestTakeoverWhileTheOldPeerFloods(t *testing.T) {
	tw := launch(t)
	old := tw.dial()
	old.startScript(echoScript)
	old.untilOutput("ready")
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		burst, _ := wire.AppendResize(nil, 90, 30)
		burst = bytes.Repeat(burst, 1000)
		for {
			if _, err := old.conn.Write(burst); err != nil {
				return
			}
		}
	}()
	for range 20 {
		p := tw.dial()
		p.send(wire.AppendRedraw(nil))
	}
	requireTakeover(t, tw, tw.dial())
	select {
	case <-flooded:
	case <-time.After(patience):
		t.Fatal("the flooding peer is still served")
	}
}

func TestTakeoverWhileTheOldPeersInputIsStuck(t *testing.T) {
	tw := launch(t)
	old := tw.dial()
	old.startScript(`stty raw -echo; echo ready; read -r go < %s; stty sane -echo; while read -r line; do echo "got<$line>"; done`, fifo(t))
	old.untilOutput("ready")
	stuck, _ := wire.AppendInput(nil, bytes.Repeat([]byte("stale "), wire.InputMax/6))
	for old.conn.SetWriteDeadline(tw.soon()); ; {
		if _, err := old.conn.Write(stuck); err != nil {
			break
		}
	}
	p := tw.dial() // the reader that waits for the inbox is let go, and what it had queued is dropped
	release(t)
	p.type_("\r")
	p.type_("fresh\r")
	p.untilOutput("got<fresh>")
	if n := strings.Count(string(p.output), "stale"); n*6 > inputPieceBytes+8192 {
		t.Errorf("%d stale words reached the program: more than the kernel and one piece hold", n)
	}
}

var fifoPath string

func fifo(t *testing.T) string {
	t.Helper()
	fifoPath = t.TempDir() + "/go"
	if err := mkfifo(fifoPath); err != nil {
		t.Fatal(err)
	}
	return fifoPath
}

// release lets a script that reads the fifo go on.
func release(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fifoPath, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// A candidate has nothing to say before it is greeted, so one that says nothing, or leaves, costs nobody anything.
func TestCandidatesThatLeaveHurtNobody(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(echoScript)
	p.untilOutput("ready")
	for range 200 {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		c, err := tw.folder.Dial(ctx, tw.id)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	last := tw.dial()
	last.type_("still here\r")
	last.untilOutput("got<still here>")
}

func TestStaleGenerationsAreDropped(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript(echoScript)
	p.untilOutput("ready")
	current := tw.dial()
	current.replay(0) // HELLO comes before the takeover, this answer after it

	in := tw.w.inbox
	if err := in.put(1, []byte("from the past\r"), nil); err != nil {
		t.Fatal(err)
	}
	size, _ := wire.AppendResize(nil, 33, 33)
	tw.w.commands <- command{1, wire.KindResize, size[wire.HeaderLen:]}
	current.type_("now\r")
	current.untilOutput("got<now>")
	if strings.Contains(string(current.output), "past") {
		t.Error("input of an old connection reached the program")
	}
	if h := tw.dial().hello; h.Cols != 80 {
		t.Error("a command of an old connection was obeyed")
	}
}

func TestHangUpOfAnOldConnectionIsIgnored(t *testing.T) {
	tw := launch(t)
	tw.dial()
	p := tw.dial()
	tw.w.hangups <- 1
	p.startScript(echoScript)
	p.untilOutput("ready")
}

func TestWorkerGoesOnWithNobodyConnected(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	done := t.TempDir() + "/done"
	p.startScript(`stty -echo -opost; echo ready; read -r go < %s; seq 1 20000; echo all-out; echo > %s; read x`, fifo(t), done)
	p.untilOutput("ready\n")
	p.conn.Close()
	release(t)
	awaitFile(t, done)
	var watermark uint64
	var stream string
	for !strings.Contains(stream, "all-out") {
		again := tw.dial()
		watermark, stream = again.replay(everything)
		again.conn.Close()
	}
	history, _ := splitReplay(t, stream)
	if lines := strings.Count(history, "\n"); lines < 20000-24 || !strings.HasPrefix(history, "ready") {
		t.Errorf("%d lines of history, beginning with %q", lines, history[:20])
	}
	want := len("ready\nall-out\n")
	for i := 1; i <= 20000; i++ {
		want += len(fmt.Sprintln(i))
	}
	if watermark != uint64(want) {
		t.Errorf("watermark %d, the program wrote %d", watermark, want)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("no %s", path)
}

// A program's last words lie in the kernel while its supervisor does not read; the end of the program must not cost them.
func TestOutputHeldBackSurvivesTheProgramsEnd(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	progress := t.TempDir() + "/progress"
	p.startScript(`stty -opost; line=$(printf %%01000d 0); i=0; while :; do echo "$i $line"; echo $i >> %s; i=$((i+1)); done`, progress)
	awaitBlocked(t, tw)
	if ack := tw.signal(p, endpoint.SignalKILL); ack != endpoint.AckDelivered {
		t.Fatal(ack)
	}
	<-tw.w.reaped
	tw.clock.awaitFire(t, drainMax) // does not count while the peer holds the worker back
	p.exit()
	wrote := strings.Fields(readFile(t, progress)) // each number after its line
	last := "\n" + wrote[len(wrote)-1] + " "
	if at := strings.LastIndex(string(p.output), last); at < 0 || len(p.output)-at < 1000 {
		t.Errorf("the program wrote line %q, the output ends with %q", last, tail(p.output))
	}
}

func TestLastFramesReachThePeer(t *testing.T) {
	tw := launch(t)
	p := tw.dial()
	p.startScript("trap 'echo dying; exit 9' TERM; echo ready; while :; do read x; done")
	p.untilOutput("ready")
	tw.stop()
	<-tw.ended
	if e := p.exit(); e.ExitCode == nil || *e.ExitCode != 9 || !strings.Contains(string(p.output), "dying") {
		t.Errorf("EXIT %+v after %q", e, p.output)
	}
}
