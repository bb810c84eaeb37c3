// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
)

// fakePrefix begins the name under which this test binary is a worker instead. What follows names its
// fault; "good" has none.
const fakePrefix = "fake-"

// fakeWorker speaks the worker's side of the protocol and has one fault. It runs no program: START makes
// it say what it was started with, INPUT comes back as OUTPUT, and RESIZE as a line of OUTPUT.
type fakeWorker struct {
	fault    string
	id       endpoint.SessionID
	instance endpoint.InstanceID
	end      chan struct{} // closed at the session's end

	mu   sync.Mutex
	conn *net.UnixConn // the live connection
	exit *wire.Exit    // nil while the session lives
	cols, rows,
	started uint16
}

func runFake() int {
	fault := strings.TrimPrefix(filepath.Base(os.Args[0]), fakePrefix)
	id := flag.String("session-id", "", "")
	dir := flag.String("worker-dir", "", "")
	flag.Parse()
	if err := serveFake(fault, endpoint.SessionID(*id), *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveFake(fault string, id endpoint.SessionID, dir string) error {
	switch fault {
	case "words":
		return errors.New("no terminal\x1b[2J to be had")
	case "die":
		os.Exit(3)
	case "unready":
		select {}
	}
	folder, err := endpoint.OpenFolder(dir)
	if err != nil {
		return err
	}
	reservation, err := endpoint.Inherit(folder, id, os.NewFile(3, "lock"))
	if err != nil {
		return err
	}
	ends, err := reservation.Listen()
	if err != nil {
		return err
	}
	if fault == "heir" { // somebody shares the lock, and outlives us a little
		heir := exec.Command("/bin/sleep", "0.2")
		heir.ExtraFiles = []*os.File{reservation.File()}
		if err := heir.Start(); err != nil {
			return err
		}
	}
	w := &fakeWorker{fault: fault, id: id, instance: endpoint.NewInstanceID(), end: make(chan struct{}), cols: 80, rows: 24}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := unix.Dup3(int(null.Fd()), 2, 0); err != nil {
		return err
	}
	go ends.Lifecycle.Serve(context.Background(), w.instance, w.deliver)
	go w.acceptLoop(ends.Supervisor)
	<-w.end
	return errors.Join(ends.Close(), reservation.Retire())
}

func (w *fakeWorker) acceptLoop(l *net.UnixListener) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		w.mu.Lock()
		if conn.Write(w.greeting()); w.fault == "silent" || w.fault == "garbled" {
			w.mu.Unlock()
			continue
		}
		if w.conn != nil {
			w.conn.Close()
		}
		w.conn = conn
		if w.exit != nil {
			w.say(wire.AppendExit(nil, *w.exit))
		}
		w.mu.Unlock()
		go w.serve(conn)
	}
}

func (w *fakeWorker) greeting() []byte {
	h := wire.Hello{
		Version: wire.ProtoVersion, SessionID: string(w.id), InstanceID: w.instance.String(), State: wire.StateWaiting, Cols: w.cols, Rows: w.rows,
		Epoch: 1, StartedAt: 1, History: true, Capabilities: wire.Capabilities(),
	}
	switch {
	case w.exit != nil:
		h.State = wire.StateExited
	case w.started > 0:
		h.State, h.PID = wire.StateRunning, os.Getpid()
	}
	switch w.fault {
	case "silent":
		return nil
	case "garbled":
		return []byte("HTTP/1.1 400 Bad Request\r\n\r\n")
	case "early":
		frame, _ := wire.AppendOutput(nil, []byte("before HELLO"))
		return frame
	case "version":
		body := []byte(`{"version":6,"more":true}`)
		return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), byte(wire.KindHello)), body...)
	case "session":
		h.SessionID = string(endpoint.NewSessionID())
	}
	frame, err := wire.AppendHello(nil, h)
	if err != nil {
		panic(err)
	}
	return frame
}

// say writes a frame to the live connection; mu is held.
func (w *fakeWorker) say(frame []byte, err error) {
	if err != nil {
		panic(err)
	}
	if w.conn != nil {
		w.conn.Write(frame)
	}
}

func (w *fakeWorker) serve(conn *net.UnixConn) {
	in := wire.NewReader(conn, wire.ToWorker)
	for {
		k, p, err := in.Next()
		w.mu.Lock()
		switch {
		case err != nil:
			w.mu.Unlock()
			return
		case k == wire.KindStart:
			w.started++
			w.say(wire.AppendOutput(nil, []byte(self())))
			if w.fault == "junk" {
				conn.Write([]byte("\xff\xff\xff\xff\xff"))
			}
		case k == wire.KindInput:
			w.say(wire.AppendOutput(nil, p))
		case k == wire.KindResize:
			w.cols, w.rows, _ = wire.DecodeResize(p)
			w.say(wire.AppendOutput(nil, fmt.Appendf(nil, "size %dx%d", w.cols, w.rows)))
		case k == wire.KindReplayReq:
			most, _ := wire.DecodeReplayReq(p)
			w.say(wire.AppendReplay(nil, uint64(most), make([]byte, most)))
		case k == wire.KindHistorySub:
			w.say(wire.AppendHistory(nil, wire.History{Epoch: 1}))
		case k == wire.KindTheme:
			w.say(wire.AppendOutput(nil, []byte("theme")))
		}
		w.mu.Unlock()
	}
}

// self is what this process was given: its environment, its descriptors, its session.
func self() string {
	var out strings.Builder
	sid, _ := unix.Getsid(0)
	cwd, _ := os.Getwd()
	fmt.Fprintf(&out, "leader=%v cwd=%s env=%q", sid == os.Getpid(), cwd, os.Environ())
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil {
			fmt.Fprintf(&out, " %s=%s", e.Name(), target)
		}
	}
	return out.String()
}

func (w *fakeWorker) deliver(s endpoint.Signal) endpoint.Ack {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.started == 0:
		go w.over()
		return endpoint.AckGone
	case w.fault == "starting" && s == endpoint.SignalTERM:
		return endpoint.AckGone // START was read, and there is no program yet
	case w.exit != nil:
		if s == endpoint.SignalKILL {
			go w.over()
		}
		return endpoint.AckGone
	case w.fault == "stubborn" && s == endpoint.SignalTERM:
		w.say(wire.AppendOutput(nil, []byte("not yet")))
		return endpoint.AckDelivered
	}
	w.exit = &wire.Exit{Signal: "SIG" + s.String()}
	w.say(wire.AppendExit(nil, *w.exit))
	return endpoint.AckDelivered
}

func (w *fakeWorker) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	mark(w.end)
}
