// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/wire"
)

// A worker is killed at every point of its life, once each. Exactly that session is lost: it is never reported as ended, what
// is left is what a sweep removes, no process of it lives on, its name can be used again, and its neighbour notices nothing.
func TestWorkerKilledAtEachPointOfItsLife(t *testing.T) {
	path, err := failingBinary()
	if err != nil {
		t.Fatal(err)
	}
	folder := openTestFolder(t)
	neighbour := newNeighbour(t, folder)
	for n, point := range failpoint.WorkerPoints() {
		t.Run(string(point), func(t *testing.T) {
			l := &life{t: t, path: path, folder: folder, id: endpoint.NewSessionID(), log: filepath.Join(t.TempDir(), "passed"), armed: point}
			l.live(point == failpoint.Ordered || point == failpoint.EndStepped)
			l.requireLost()
			l.requireReusable()
			neighbour.requireWell(n)
		})
	}
}

// The list of points is no wish: two lives pass all of them, and no others, and end as if there were none.
func TestEveryFailpointIsPassed(t *testing.T) {
	path, err := failingBinary()
	if err != nil {
		t.Fatal(err)
	}
	passed := map[failpoint.Point]int{}
	for _, ordered := range []bool{false, true} {
		folder := openTestFolder(t)
		l := &life{t: t, path: path, folder: folder, id: endpoint.NewSessionID(), log: filepath.Join(t.TempDir(), "passed")}
		l.live(ordered)
		if code := l.process.cmd.ProcessState.ExitCode(); code != 0 || l.exit == nil || l.exit.Signal != "SIGTERM" {
			t.Errorf("exit code %d, EXIT %+v", code, l.exit)
		}
		requireEmpty(t, folder)
		for point, n := range l.passed() {
			passed[point] += n
		}
	}
	for _, point := range failpoint.WorkerPoints() {
		if passed[point] == 0 {
			t.Errorf("%s is never passed", point)
		}
		delete(passed, point)
	}
	if len(passed) > 0 {
		t.Errorf("passed and not listed: %v", passed)
	}
}

// An ordinary worker has no such points: neither the names nor what obeys them are in the binary.
func TestOrdinaryWorkerHasNoFailpoints(t *testing.T) {
	path, err := workerBinary()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"SPAWN_FAILPOINT", string(failpoint.RecordSealed), string(failpoint.HelloTorn)} {
		if bytes.Contains(binary, []byte(text)) {
			t.Errorf("%q is in the worker", text)
		}
	}
}

// life is one worker's, in which all that a worker does is done.
type life struct {
	t       *testing.T
	path    string
	folder  *endpoint.Folder
	id      endpoint.SessionID
	log     string
	armed   failpoint.Point // "" lives to the end
	process *process
	exit    *wire.Exit // nil unless it was told
}

// lifeScript ends by a signal and by nothing else: neither it nor its child takes the loss of the terminal for an end.
const lifeScript = `stty -echo; sleep 1000 & echo up; while :; do read -r x || sleep 1000; seq 1 60; printf '\033[3J'; echo "$x-done"; done`

// live goes on as far as the worker does and returns after its end. ordered ends it by a signal to the worker, else it is
// the program that is ended, and then the linger.
func (l *life) live(ordered bool) {
	l.t.Helper()
	env := []string{"SPAWN_FAILPOINT=" + string(l.armed), "SPAWN_FAILPOINT_LOG=" + l.log}
	l.process, _ = executeFile(l.t, l.path, env, l.folder, l.id, "--session-id", l.id.String(), "--worker-dir", l.folder.Path())
	if err := l.steps(ordered); err != nil && l.armed == "" {
		l.t.Error(err)
	}
	l.process.await()
}

// steps returns the first error, which is the connection's end when the worker dies.
func (l *life) steps(ordered bool) error {
	first, err := l.meet()
	if err != nil {
		return err
	}
	defer first.conn.Close()
	err = first.send(wire.AppendStart(nil, wire.Start{
		Argv: []string{"/bin/sh", "-c", lifeScript}, Cwd: "/", Cols: 80, Rows: 24,
		Env: []string{"PATH=/usr/bin:/bin", "TERM=xterm-256color", l.mark()},
	}))
	if err = errors.Join(err, first.untilOutput("up\r\n")); err != nil {
		return err
	}
	second, err := l.meet()
	if err != nil {
		return err
	}
	defer second.conn.Close()
	if err := second.work(); err != nil {
		return err
	}
	return l.end(second, ordered)
}

// work is all that a supervisor asks for.
func (m *mortal) work() error {
	err := errors.Join(
		m.send(wire.AppendHistorySub(nil, true)),
		m.send(wire.AppendResize(nil, 100, 30)),
		m.send(wire.AppendInput(nil, []byte("work\r"))),
		m.untilOutput("work-done\r\n"),
	)
	if err != nil {
		return err
	}
	if err := m.send(wire.AppendReplayReq(nil, everything)); err != nil {
		return err
	}
	if _, err = m.until(wire.KindReplay); err != nil {
		return err
	}
	if err := m.send(wire.AppendCaptureReq(nil, wire.CaptureReq{What: wire.CaptureAll})); err != nil {
		return err
	}
	_, err = m.until(wire.KindCapture)
	return err
}

func (l *life) end(m *mortal, ordered bool) error {
	var err error
	if ordered {
		err = l.process.cmd.Process.Signal(syscall.SIGTERM)
	} else {
		_, err = l.folder.Signal(context.Background(), l.id, m.instance, endpoint.SignalTERM)
	}
	if err != nil {
		return err
	}
	payload, err := m.until(wire.KindExit)
	if err != nil {
		return err
	}
	exit, err := wire.DecodeExit(payload)
	if err != nil {
		return err
	}
	l.exit = &exit
	if !ordered {
		_, err = l.folder.Signal(context.Background(), l.id, m.instance, endpoint.SignalKILL)
	}
	return err
}

// mark is in the environment of each of the session's processes.
func (l *life) mark() string { return "LIFE=" + l.id.String() }

func (l *life) passed() map[failpoint.Point]int {
	l.t.Helper()
	text, err := os.ReadFile(l.log)
	if err != nil {
		l.t.Fatal(err)
	}
	count := map[failpoint.Point]int{}
	for _, name := range strings.Fields(string(text)) {
		count[failpoint.Point(name)]++
	}
	return count
}

// requireLost wants the worker dead at its point, and nothing untrue said about the session.
func (l *life) requireLost() {
	l.t.Helper()
	if status := l.process.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		l.t.Fatalf("the worker ended with %v and not at its point", l.process.cmd.ProcessState)
	}
	passed := l.passed()
	if passed[l.armed] == 0 {
		l.t.Errorf("%s is not among those passed: %v", l.armed, passed)
	}
	switch {
	case l.exit == nil:
	case passed[failpoint.ExitTold] == 0:
		l.t.Errorf("EXIT %+v was told before the session's end", *l.exit)
	case l.exit.Signal != "SIGTERM":
		l.t.Errorf("EXIT %+v is untrue", *l.exit)
	}
	l.awaitNoProcess()
}

// awaitNoProcess wants every process of the session gone: the kernel hangs up a terminal whose keeper dies.
func (l *life) awaitNoProcess() {
	l.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		left := processesWith(l.t, l.mark())
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				l.t.Errorf("process %d (%s) lives on", pid, nameOf(pid))
				syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
	}
}

func processesWith(t *testing.T, mark string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err != nil {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if bytes.Contains(environ, []byte(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// requireReusable sweeps what the dead worker left, twice over, and lets another begin and end at its name.
func (l *life) requireReusable() {
	l.t.Helper()
	if held, err := l.folder.Locked(l.id); held || err != nil {
		l.t.Fatalf("a dead worker's lock is held: %v, %v", held, err)
	}
	if err := l.folder.Sweep(l.id); err != nil {
		l.t.Fatal(err)
	}
	l.requireNoFiles()
	next, complaint := execute(l.t, l.folder, l.id, "--session-id", l.id.String(), "--worker-dir", l.folder.Path())
	if complaint != "" {
		l.t.Fatalf("a successor complains: %s", complaint)
	}
	m, err := l.meet()
	if err != nil {
		l.t.Fatal(err)
	}
	defer m.conn.Close()
	if _, err := l.folder.Signal(context.Background(), l.id, m.instance, endpoint.SignalKILL); err != nil {
		l.t.Fatal(err)
	}
	next.await()
	l.requireNoFiles()
}

func (l *life) requireNoFiles() {
	l.t.Helper()
	left, err := filepath.Glob(filepath.Join(l.folder.Path(), l.id.String()+"*"))
	if err != nil || len(left) > 0 {
		l.t.Errorf("left behind: %v, %v", left, err)
	}
}

// mortal is a connection that may end at any time without failing the test.
type mortal struct {
	conn     *net.UnixConn
	frames   *wire.Reader
	instance endpoint.InstanceID
}

func (l *life) meet() (*mortal, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := l.folder.Dial(ctx, l.id)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(patience))
	m := &mortal{conn: conn, frames: wire.NewReader(conn, wire.FromWorker)}
	var hello wire.Hello
	payload, err := m.until(wire.KindHello)
	if err == nil {
		hello, err = wire.DecodeHello(payload)
	}
	if err == nil {
		m.instance, err = endpoint.ParseInstanceID(hello.InstanceID)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return m, nil
}

func (m *mortal) send(frame []byte, err error) error {
	if err != nil {
		return err
	}
	_, err = m.conn.Write(frame)
	return err
}

func (m *mortal) until(kind wire.Kind) ([]byte, error) {
	for {
		k, payload, err := m.frames.Next()
		if err != nil || k == kind {
			return payload, err
		}
	}
}

func (m *mortal) untilOutput(text string) error {
	var out []byte
	for !bytes.Contains(out, []byte(text)) {
		payload, err := m.until(wire.KindOutput)
		if err != nil {
			return err
		}
		out = append(out, payload...)
	}
	return nil
}

// neighbour is another session in the same folder.
type neighbour struct {
	t    *testing.T
	peer *peer
}

func newNeighbour(t *testing.T, folder *endpoint.Folder) *neighbour {
	t.Helper()
	id := endpoint.NewSessionID()
	_, complaint := execute(t, folder, id, "--session-id", id.String(), "--worker-dir", folder.Path())
	if complaint != "" {
		t.Fatal(complaint)
	}
	n := &neighbour{t, dial(t, folder, id)}
	n.peer.startScript(echoScript)
	n.peer.untilOutput("ready\r\n")
	return n
}

// requireWell wants each line back once, and nothing else.
func (n *neighbour) requireWell(i int) {
	n.t.Helper()
	n.peer.output = nil
	n.peer.type_(fmt.Sprintf("line %d\r", i))
	want := fmt.Sprintf("got<line %d>\r\n", i)
	n.peer.untilOutput(want)
	if !slices.Equal(n.peer.output, []byte(want)) {
		n.t.Errorf("the neighbour said %q, want %q", n.peer.output, want)
	}
}
