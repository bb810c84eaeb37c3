// SPDX-License-Identifier: Apache-2.0

//go:build linux

package skew

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/fleet"
)

// peer is a worker by its reservation and its socket, whose greeting a test writes.
type peer struct {
	id    endpoint.SessionID
	kinds chan []wire.Kind // gets what one connection sent, when it has ended
}

// play holds a session in folder and greets each connection with the frame that hello makes.
func play(t *testing.T, folder *endpoint.Folder, hello func(id endpoint.SessionID) []byte) *peer {
	t.Helper()
	p := &peer{id: endpoint.NewSessionID(), kinds: make(chan []wire.Kind, 1)}
	reservation, err := folder.Reserve(p.id)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := reservation.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := ends.Supervisor.AcceptUnix()
			if err != nil {
				return
			}
			p.kinds <- record(conn, hello(p.id))
		}
	}()
	t.Cleanup(func() {
		ends.Close()
		<-ended
		reservation.Retire()
	})
	return p
}

// record greets a supervisor and returns the kinds that it sends until it leaves.
func record(conn *net.UnixConn, hello []byte) (kinds []wire.Kind) {
	defer conn.Close()
	if _, err := conn.Write(hello); err != nil {
		return nil
	}
	for frames := wire.NewReader(conn, wire.ToWorker); ; {
		k, _, err := frames.Next()
		if err != nil {
			return kinds
		}
		kinds = append(kinds, k)
	}
}

// A worker of another version is refused in words that name both, and is left alone.
func TestAnotherVersionIsRefusedByBothNumbers(t *testing.T) {
	for _, version := range []int{1, wire.ProtoVersion - 1, wire.ProtoVersion + 1, 999} {
		folder := openFolder(t)
		p := play(t, folder, func(endpoint.SessionID) []byte {
			frame, _ := wire.AppendFrame(nil, wire.KindHello, fmt.Appendf(nil, `{"version":%d,"what":"a later one says otherwise"}`, version))
			return frame
		})
		_, err := fleet.New(fleet.Options{Folder: folder, WorkerPath: "/nowhere"}).Adopt(context.Background(), p.id)
		var refusal *fleet.Refusal
		if !errors.As(err, &refusal) || refusal.Code != fleet.CodeVersion || !errors.Is(err, wire.ErrVersion) {
			t.Fatalf("version %d: %v", version, err)
		}
		for _, number := range []int{version, wire.ProtoVersion} {
			if !slices.Contains(strings.FieldsFunc(refusal.Err.Error(), notDigit), fmt.Sprint(number)) {
				t.Errorf("version %d: %q does not name %d", version, refusal.Err, number)
			}
		}
		if sent := <-p.kinds; len(sent) > 0 {
			t.Errorf("version %d: was sent %v", version, sent)
		}
		if held, err := folder.Locked(p.id); !held || err != nil {
			t.Errorf("version %d: its reservation did not survive: %v", version, err)
		}
	}
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// commands are all methods of a handle that send a frame. Those that send none are in quiet; a new method belongs to one.
var commands = map[string]func(h *fleet.Handle) error{
	"Input":            func(h *fleet.Handle) error { return h.Input([]byte("x")) },
	"Resize":           func(h *fleet.Handle) error { return h.Resize(33, 11) },
	"RequestReplay":    func(h *fleet.Handle) error { return h.RequestReplay(1) },
	"RequestCapture":   func(h *fleet.Handle) error { return h.RequestCapture(wire.CaptureReq{What: wire.CaptureScreen}) },
	"SubscribeHistory": func(h *fleet.Handle) error { return h.SubscribeHistory(true) },
	"SetTheme": func(h *fleet.Handle) error {
		return h.SetTheme(wire.Theme{Foreground: "#ffffff", Background: "#000000", Cursor: "#00ff00"})
	},
}

var quiet = []string{"Alive", "Argv0", "Close", "Hello", "ID", "Launched", "Recv", "Signal", "Terminate", "WorkerPID"}

// sent is the gated kinds that commands are known to send.
var sent = map[wire.Kind]bool{wire.KindHistorySub: true, wire.KindCaptureReq: true, wire.KindTheme: true}

// No frame that a capability gates reaches a worker that does not list it; one that lists it does get it.
func TestGatedFramesNeedTheirCapability(t *testing.T) {
	requireAllMethods(t)
	for _, offered := range append(wire.Capabilities(), "", "something_later") {
		got := drivePeer(t, offered)
		for _, s := range wire.Kinds() {
			if s.Dir != wire.ToWorker || s.Since == "" {
				continue
			}
			want := sent[s.Kind] && s.Since == offered
			if slices.Contains(got, s.Kind) != want {
				t.Errorf("a worker that lists %q was sent %v; %v among them: want %v", offered, got, s.Kind, want)
			}
		}
		for _, k := range []wire.Kind{wire.KindInput, wire.KindResize, wire.KindReplayReq} {
			if !slices.Contains(got, k) {
				t.Errorf("a worker that lists %q was not sent %v, which needs nothing", offered, k)
			}
		}
	}
}

// drivePeer adopts a worker that lists one capability, gives it every command and returns what arrived.
func drivePeer(t *testing.T, capability string) []wire.Kind {
	t.Helper()
	folder := openFolder(t)
	p := play(t, folder, func(id endpoint.SessionID) []byte { return greeting(t, id, capability) })
	h, err := fleet.New(fleet.Options{Folder: folder, WorkerPath: "/nowhere"}).Adopt(context.Background(), p.id)
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range commands {
		if err := command(h); err != nil && !errors.Is(err, fleet.ErrCapability) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.Close()
	return <-p.kinds
}

func greeting(t *testing.T, id endpoint.SessionID, capability string) []byte {
	hello := wire.Hello{
		Version: wire.ProtoVersion, SessionID: string(id), InstanceID: endpoint.NewInstanceID().String(), PID: 1, State: wire.StateRunning,
		Cols: 80, Rows: 24, Capabilities: []string{},
	}
	if capability != "" {
		hello.Capabilities = append(hello.Capabilities, capability)
	}
	frame, err := wire.AppendHello(nil, hello)
	if err != nil {
		t.Error(err)
	}
	return frame
}

// requireAllMethods fails when a handle has a method that nobody has thought about here.
func requireAllMethods(t *testing.T) {
	t.Helper()
	handle := reflect.TypeFor[*fleet.Handle]()
	for i := range handle.NumMethod() {
		name := handle.Method(i).Name
		if _, known := commands[name]; !known && !slices.Contains(quiet, name) {
			t.Errorf("Handle.%s: does it send a frame, and which capability gates that?", name)
		}
	}
}
