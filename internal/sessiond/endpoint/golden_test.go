// SPDX-License-Identifier: Apache-2.0

//go:build linux

package endpoint

import (
	"bytes"
	"context"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// golden reads annotated hex: a comment stands behind each # sign.
func golden(t *testing.T, name string) (b []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "v5-"+name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		digits, _, _ := strings.Cut(line, "#")
		part, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, part...)
	}
	return b
}

var (
	goldenInstance = InstanceID{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	goldenSignals  = map[string]Signal{"term": SignalTERM, "kill": SignalKILL}
	goldenAcks     = map[string]Ack{"ack-delivered": AckDelivered, "ack-gone": AckGone, "ack-stale": AckStale, "ack-malformed": AckMalformed}
)

func TestEveryDatagramHasItsGoldenBytes(t *testing.T) {
	files, err := filepath.Glob("testdata/v5-*.hex")
	if err != nil || len(files) != len(goldenSignals)+len(goldenAcks) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, s := range goldenSignals {
		if got := appendRequest(nil, goldenInstance, s); !bytes.Equal(got, golden(t, name)) {
			t.Errorf("%s is % x", name, got)
		}
		if got, refusal := parseRequest(golden(t, name), goldenInstance); got != s || refusal != 0 {
			t.Errorf("%s is read as %v, %v", name, got, refusal)
		}
	}
	for name, want := range goldenAcks {
		if got, err := parseAck(golden(t, name)); err != nil || got != want {
			t.Errorf("%s is read as %v, %v", name, got, err)
		}
	}
}

// The golden bytes at a served endpoint, and back.
func TestWorkerAnswersGoldenBytesWithGoldenBytes(t *testing.T) {
	answers := make(chan Ack, 3)
	s := newSession(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Lifecycle.Serve(ctx, goldenInstance, func(sig Signal) Ack { s.delivered <- sig; return <-answers })
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for _, ack := range []Ack{AckDelivered, AckDelivered, AckGone} {
		answers <- ack
	}
	close(answers)
	sender := s.sender(t)
	other := golden(t, "term")
	other[0] ^= 1
	for _, c := range []struct {
		send []byte
		want string
	}{
		{golden(t, "term"), "ack-delivered"}, {golden(t, "kill"), "ack-delivered"}, {golden(t, "kill"), "ack-gone"},
		{other, "ack-stale"}, {golden(t, "term")[1:], "ack-malformed"},
	} {
		if _, err := sender.WriteToUnix(c.send, &net.UnixAddr{Name: s.path(), Net: "unixgram"}); err != nil {
			t.Fatal(err)
		}
		sender.SetReadDeadline(time.Now().Add(10 * time.Second))
		got := make([]byte, 16)
		n, err := sender.Read(got)
		if err != nil || !bytes.Equal(got[:n], golden(t, c.want)) {
			t.Errorf("% x is answered with % x, %v", c.send, got[:n], err)
		}
	}
	for _, want := range []Signal{SignalTERM, SignalKILL, SignalKILL} {
		if got := <-s.delivered; got != want {
			t.Errorf("delivered %v, want %v", got, want)
		}
	}
}

// And the supervisor's side, against a socket that knows only the files.
func TestSupervisorSendsAndReadsGoldenBytes(t *testing.T) {
	for name, s := range goldenSignals {
		for ack, want := range goldenAcks {
			session := newSession(t)
			socket := session.Lifecycle.conn // nobody else serves it
			done := make(chan []byte, 1)
			go func() {
				b := make([]byte, 64)
				n, from, err := socket.ReadFromUnix(b)
				if err == nil {
					_, err = socket.WriteToUnix(golden(t, ack), from)
				}
				if err != nil {
					n = 0
				}
				done <- b[:n]
			}()
			got, err := session.folder.Signal(t.Context(), session.id, goldenInstance, s)
			if err != nil || got != want {
				t.Errorf("%s, %s: %v, %v", name, ack, got, err)
			}
			if sent := <-done; !bytes.Equal(sent, golden(t, name)) {
				t.Errorf("%s is sent as % x", name, sent)
			}
		}
	}
}
