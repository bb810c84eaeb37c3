// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/unmet"
)

// served is a session whose lifecycle endpoint is being served.
type served struct {
	*Endpoints
	folder    *Folder
	id        SessionID
	instance  InstanceID
	delivered chan Signal
}

// newSession makes a session that nobody serves yet.
func newSession(t testing.TB) *served {
	t.Helper()
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	return &served{listen(t, reserve(t, f, id)), f, id, NewInstanceID(), make(chan Signal, 100)}
}

// serve starts Serve and joins it at the end of the test.
func (s *served) serve(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Lifecycle.Serve(ctx, s.instance, func(sig Signal) Ack {
			s.delivered <- sig
			return AckDelivered
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func (s *served) path() string {
	return filepath.Join(s.folder.Path(), string(s.id)+lifecycleSuffix)
}

// sender returns an unconnected socket that may be answered.
func (s *served) sender(t testing.TB) *net.UnixConn {
	t.Helper()
	dir := filepath.Join(s.folder.Path(), string(s.id)+replySuffix)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return datagramSocket(t, filepath.Join(dir, randomName()))
}

func datagramSocket(t testing.TB, path string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func (s *served) send(t testing.TB, from *net.UnixConn, p, ancillary []byte) {
	t.Helper()
	if _, _, err := from.WriteMsgUnix(p, ancillary, &net.UnixAddr{Name: s.path(), Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
}

func expectAck(t testing.TB, conn *net.UnixConn, want Ack) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	var p [8]byte
	n, err := conn.Read(p[:])
	if err != nil || n != 1 || Ack(p[0]) != want {
		t.Errorf("answer % x, %v, want %v", p[:n], err, want)
	}
}

func TestSignalReachesTheInstanceItNames(t *testing.T) {
	s := newSession(t)
	s.serve(t)
	for _, sig := range []Signal{SignalTERM, SignalKILL, SignalKILL} {
		ack, err := s.folder.Signal(context.Background(), s.id, s.instance, sig)
		if err != nil || ack != AckDelivered {
			t.Fatalf("%v: %v, %v", sig, ack, err)
		}
		if got := <-s.delivered; got != sig {
			t.Errorf("delivered %v, want %v", got, sig)
		}
	}
	ack, err := s.folder.Signal(context.Background(), s.id, NewInstanceID(), SignalKILL)
	if err != nil || ack != AckStale {
		t.Errorf("another instance: %v, %v", ack, err)
	}
	ack, err = s.folder.Signal(context.Background(), s.id, s.instance, Signal(9))
	if err != nil || ack != AckMalformed {
		t.Errorf("unknown signal: %v, %v", ack, err)
	}
	if len(s.delivered) != 0 || s.Lifecycle.Refused() != 2 {
		t.Errorf("%d more delivered, %d refused", len(s.delivered), s.Lifecycle.Refused())
	}
	if names := entries(t, s.folder.Path()); len(names) != 3 {
		t.Errorf("senders left %v", names)
	}
}

func TestMalformedDatagramsAreAnsweredAndNothingElse(t *testing.T) {
	s := newSession(t)
	s.serve(t)
	from := s.sender(t)
	whole := appendRequest(nil, s.instance, SignalKILL)
	for n := range 64 {
		if n != RequestLen {
			s.send(t, from, append(bytes.Clone(whole), make([]byte, 64)...)[:n], nil)
			expectAck(t, from, AckMalformed)
		}
	}
	s.send(t, from, make([]byte, 60_000), nil)
	expectAck(t, from, AckMalformed)
	if len(s.delivered) != 0 {
		t.Errorf("%d signals were delivered", len(s.delivered))
	}
	s.send(t, from, whole, nil)
	expectAck(t, from, AckDelivered)
}

func TestDatagramsOfEarlierInstancesDoNothing(t *testing.T) {
	s := newSession(t)
	s.serve(t)
	from := s.sender(t)
	for range 50 {
		s.send(t, from, appendRequest(nil, NewInstanceID(), SignalKILL), nil)
		expectAck(t, from, AckStale)
	}
	flipped := s.instance
	flipped[15] ^= 1
	s.send(t, from, appendRequest(nil, flipped, SignalTERM), nil)
	expectAck(t, from, AckStale)
	if len(s.delivered) != 0 || s.Lifecycle.Refused() != 51 {
		t.Errorf("%d delivered, %d refused", len(s.delivered), s.Lifecycle.Refused())
	}
}

func openDescriptors(t testing.TB) int { return len(entries(t, "/proc/self/fd")) }

func TestDescriptorsThatComeWithADatagramAreNotTaken(t *testing.T) {
	s := newSession(t)
	s.serve(t)
	from := s.sender(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before := openDescriptors(t)
	for range 20 {
		s.send(t, from, appendRequest(nil, s.instance, SignalKILL), unix.UnixRights(int(null.Fd()), int(null.Fd())))
	}
	s.send(t, from, appendRequest(nil, s.instance, SignalTERM), nil)
	expectAck(t, from, AckDelivered)
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
	if got := <-s.delivered; got != SignalTERM || len(s.delivered) != 0 || s.Lifecycle.Refused() != 20 {
		t.Errorf("delivered %v and %d more, %d refused", got, len(s.delivered), s.Lifecycle.Refused())
	}
}

func TestAnswersGoNowhereElse(t *testing.T) {
	s := newSession(t)
	s.serve(t)
	above := filepath.Dir(s.folder.Path())
	other := filepath.Join(above, "12345678")
	victim := filepath.Join(s.folder.Path(), string(NewSessionID())+replySuffix)
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	var strangers []*net.UnixConn
	for _, path := range []string{other, filepath.Join(victim, "12345678"), s.path() + ".own"} {
		conn := datagramSocket(t, path)
		strangers = append(strangers, conn)
		s.send(t, conn, []byte("junk"), nil)
	}
	from := s.sender(t)
	bystander := filepath.Join(filepath.Dir(from.LocalAddr().String()), "12345678")
	strangers = append(strangers, datagramSocket(t, bystander))
	s.send(t, strangers[1], []byte("junk"), nil) // again, now that its last element leads somewhere
	s.send(t, from, appendRequest(nil, s.instance, SignalTERM), nil)
	expectAck(t, from, AckDelivered) // so the others are done with
	for _, conn := range strangers {
		raw, err := conn.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Read(func(fd uintptr) bool {
			if n, _, err := unix.Recvfrom(int(fd), make([]byte, 8), unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
				t.Errorf("%v was answered with %d bytes (%v)", conn.LocalAddr(), n, err)
			}
			return true
		})
	}
}

func TestCredentialsMustBeWholeAndOurs(t *testing.T) {
	own := unix.Ucred{Pid: int32(os.Getpid()), Uid: uint32(os.Geteuid())}
	missing, foreign := own, own
	missing.Pid = 0
	foreign.Uid++
	for name, c := range map[string]struct {
		ancillary []byte
		want      bool
	}{
		"own":     {unix.UnixCredentials(&own), true},
		"none":    {nil, false},
		"missing": {unix.UnixCredentials(&missing), false},
		"foreign": {unix.UnixCredentials(&foreign), false},
		"rights":  {unix.UnixRights(0), false},
		"both":    {append(unix.UnixCredentials(&own), unix.UnixRights(0)...), false},
		"twice":   {append(unix.UnixCredentials(&own), unix.UnixCredentials(&own)...), false},
		"garbage": {[]byte{1, 2, 3}, false},
	} {
		if got := ofOurUser(c.ancillary); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestDatagramsOfAnotherUserAreIgnoredAndCounted(t *testing.T) {
	unmet.Root(t, "start a process of another user")
	s := newSession(t)
	reply := filepath.Join(s.folder.Path(), string(s.id)+replySuffix)
	if err := os.Mkdir(reply, 0o777); err != nil {
		t.Fatal(err)
	}
	for path, m := range map[string]os.FileMode{
		filepath.Dir(s.folder.Path()): 0o755, s.folder.Path(): 0o755, s.path(): 0o666, reply: 0o777,
	} {
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
	}
	s.serve(t)
	request, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer request.Close()
	if _, err := request.Write(appendRequest(nil, s.instance, SignalKILL)); err != nil {
		t.Fatal(err)
	}
	if _, err := request.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	stranger := startRole(t, "datagram", nobody, []*os.File{request}, s.path(), reply)
	stranger.expect(t, "sent")
	stranger.expect(t, "no answer")
	if len(s.delivered) != 0 || s.Lifecycle.Refused() != 1 {
		t.Errorf("%d delivered, %d refused", len(s.delivered), s.Lifecycle.Refused())
	}
}

// fill queues junk until the kernel takes no more, and returns how much it took.
func (s *served) fill(t testing.TB, from *net.UnixConn) int {
	t.Helper()
	raw, err := from.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	full := false
	for !full {
		raw.Write(func(fd uintptr) bool {
			err := unix.Sendto(int(fd), []byte("junk"), unix.MSG_DONTWAIT, &unix.SockaddrUnix{Name: s.path()})
			full = err != nil
			return true
		})
		if !full {
			n++
		}
	}
	return n
}

func TestKillBehindAFullQueueMeetsItsDeadline(t *testing.T) {
	s := newSession(t)
	from := s.sender(t)
	if n := s.fill(t, from); n < 11 {
		t.Fatalf("only %d datagrams fit", n)
	}
	type result struct {
		ack Ack
		err error
	}
	done := make(chan result, 1)
	began := time.Now()
	go func() {
		ack, err := s.folder.Signal(context.Background(), s.id, s.instance, SignalKILL)
		done <- result{ack, err}
	}()
	s.serve(t)
	r := <-done
	if r.err != nil || r.ack != AckDelivered || time.Since(began) > SignalDeadline {
		t.Errorf("got %v, %v after %v", r.ack, r.err, time.Since(began))
	}
	if got := <-s.delivered; got != SignalKILL {
		t.Errorf("delivered %v", got)
	}
}

func TestKillGetsThroughALastingFlood(t *testing.T) {
	s := newSession(t)
	s.serve(t)
	var stop atomic.Bool
	flooded := make(chan int, 3)
	for range cap(flooded) {
		from := s.sender(t)
		go func() {
			sent := 0
			for !stop.Load() {
				from.SetWriteDeadline(time.Now().Add(time.Second))
				if _, err := from.WriteTo([]byte("junk"), &net.UnixAddr{Name: s.path(), Net: "unixgram"}); err == nil {
					sent++
				}
			}
			flooded <- sent
		}()
	}
	for range 20 {
		ack, err := s.folder.Signal(context.Background(), s.id, s.instance, SignalKILL)
		if err != nil || ack != AckDelivered {
			t.Errorf("got %v, %v", ack, err)
			break
		}
		<-s.delivered
	}
	stop.Store(true)
	for range cap(flooded) {
		if sent := <-flooded; sent == 0 {
			t.Error("there was no flood")
		}
	}
}

func TestSignalToAStoppedWorkerEndsInTimeWithoutLeftovers(t *testing.T) {
	s := newSession(t) // it listens and never reads
	began := time.Now()
	ack, err := s.folder.Signal(context.Background(), s.id, s.instance, SignalTERM)
	took := time.Since(began)
	if !errors.Is(err, context.DeadlineExceeded) || ack != 0 {
		t.Errorf("got %v, %v", ack, err)
	}
	if took < SignalDeadline-50*time.Millisecond || took > SignalDeadline+time.Second {
		t.Errorf("took %v", took)
	}
	if names := entries(t, s.folder.Path()); len(names) != 3 {
		t.Errorf("left %v", names)
	}
	if held, err := s.folder.Locked(s.id); err != nil || !held {
		t.Errorf("the worker lost its lock: %t, %v", held, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.folder.Signal(ctx, s.id, s.instance, SignalTERM); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSignalToNobodyIsGone(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	for _, state := range []string{"never was", "left its sockets"} {
		if ack, err := f.Signal(context.Background(), id, NewInstanceID(), SignalKILL); err != nil || ack != AckGone {
			t.Errorf("%s: %v, %v", state, ack, err)
		}
		if state == "never was" {
			leave(t, f, id)
		}
	}
}

func TestSignalWaitsForAWorkerThatIsAboutToListen(t *testing.T) {
	f := openFolder(t, newPath(t))
	id := NewSessionID()
	r := reserve(t, f, id)
	s := &served{nil, f, id, NewInstanceID(), make(chan Signal, 1)}
	done := make(chan error, 1)
	go func() {
		ack, err := f.Signal(context.Background(), id, s.instance, SignalTERM)
		if ack != AckDelivered {
			err = errors.Join(err, errors.New("got "+ack.String()))
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("gave up on a reserved session: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	s.Endpoints = listen(t, r)
	s.serve(t)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestMalformedAcknowledgementsAreRefused(t *testing.T) {
	for _, answer := range []string{"", "\x00", "\x05", "\x01\x01"} {
		s := newSession(t)
		go func() {
			var p [64]byte
			_, from, err := s.Lifecycle.conn.ReadFromUnix(p[:])
			if err != nil {
				return
			}
			at := filepath.Join(s.folder.Path(), string(s.id)+replySuffix, filepath.Base(from.Name))
			s.Lifecycle.conn.WriteToUnix([]byte(answer), &net.UnixAddr{Name: at, Net: "unixgram"})
		}()
		if ack, err := s.folder.Signal(context.Background(), s.id, s.instance, SignalTERM); !errors.Is(err, ErrAck) {
			t.Errorf("%q: got %v, %v, want ErrAck", answer, ack, err)
		}
	}
}

func TestServeEndsWithItsContextOrItsSocket(t *testing.T) {
	for _, end := range []string{"context", "socket"} {
		s := newSession(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- s.Lifecycle.Serve(ctx, s.instance, func(Signal) Ack { return AckGone }) }()
		if ack, err := s.folder.Signal(ctx, s.id, s.instance, SignalTERM); err != nil || ack != AckGone {
			t.Fatalf("got %v, %v", ack, err)
		}
		if end == "context" {
			cancel()
		} else {
			s.Close()
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", end, err)
		}
	}
}
