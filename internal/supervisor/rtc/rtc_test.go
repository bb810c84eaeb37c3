// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
)

func TestChannelsCarryMessagesBothWays(t *testing.T) {
	e, p := listen(t), loopbackPage(t)
	pty := p.open("spawn.pty.p0", nil)
	peer := p.connect(e)
	channels := acceptAll(t, peer, ControlLabel, "spawn.pty.p0")
	for label, far := range map[string]*end{ControlLabel: p.ctl, "spawn.pty.p0": pty} {
		near, raw := channels[label], far.wait(t)
		var sent uint64
		for _, n := range []int{1, 2, 1000, MessageMax - 1, MessageMax, 1} {
			want := bytes.Repeat([]byte{byte(n)}, n)
			if err := near.Write(testContext(t), want); err != nil {
				t.Fatal(err)
			}
			sent += uint64(n)
			got := make([]byte, MessageMax)
			m, text, err := raw.ReadDataChannel(got)
			if err != nil || !bytes.Equal(got[:m], want) || text != (label == ControlLabel) {
				t.Fatalf("%s: %d bytes to the page: got %d, text %v, %v", label, n, m, text, err)
			}
		}
		if near.Sent() != sent {
			t.Errorf("%s: Sent() = %d, want %d", label, near.Sent(), sent)
		}
		for _, n := range []int{1, 3000, ReceiveMax - 1, ReceiveMax, 1} {
			want := bytes.Repeat([]byte{byte(n)}, n)
			if _, err := raw.WriteDataChannel(want, label == ControlLabel); err != nil {
				t.Fatal(err)
			}
			if got, err := near.Read(); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: %d bytes to the host: %d, %v", label, n, len(got), err)
			}
		}
		if err := near.Write(testContext(t), make([]byte, MessageMax+1)); err == nil {
			t.Error("a message beyond the bound was sent")
		}
	}
}

func TestMessagesBeyondTheBoundOrOfTheOtherKindAreRefused(t *testing.T) {
	e, p := listen(t), loopbackPage(t)
	big, text := p.open("spawn.pty.p0", nil), p.open("spawn.pty.p1", nil)
	peer, answer, err := e.Answer(testContext(t), p.offer())
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("a=max-message-size:%d\r\n", ReceiveMax)
	if !strings.Contains(answer, said) {
		t.Errorf("the answer does not name the bound:\n%s", answer)
	}
	p.take(strings.Replace(answer, said, "a=max-message-size:1000000\r\n", 1)) // a page that keeps to no bound
	channels := acceptAll(t, peer, ControlLabel, "spawn.pty.p0", "spawn.pty.p1")
	for label, send := range map[string]func() (int, error){
		"spawn.pty.p0": func() (int, error) { return big.wait(t).WriteDataChannel(make([]byte, ReceiveMax+1), false) },
		"spawn.pty.p1": func() (int, error) { return text.wait(t).WriteDataChannel([]byte("hello"), true) },
		ControlLabel:   func() (int, error) { return p.ctl.wait(t).WriteDataChannel([]byte("{}"), false) },
	} {
		if _, err := send(); err != nil {
			t.Fatal(err)
		}
		if got, err := channels[label].Read(); err == nil {
			t.Errorf("%s: took a message of %d bytes", label, len(got))
		}
	}
}

// fill writes numbered messages until the page, which reads nothing, holds up the writer. It returns how
// many were taken.
func fill(t *testing.T, c *Channel) int {
	t.Helper()
	for sent := 0; ; sent++ {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		err := c.Write(ctx, numbered(sent))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return sent
		}
		if err != nil {
			t.Fatal(err)
		}
		if sent*MessageMax > 16<<20 {
			t.Fatal("16 MiB went to a page that reads nothing")
		}
	}
}

func numbered(i int) []byte {
	m := make([]byte, MessageMax)
	binary.BigEndian.PutUint32(m, uint32(i))
	return m
}

func TestAWriterWaitsForAPageThatDoesNotRead(t *testing.T) {
	e, p := listen(t), loopbackPage(t)
	pty, other := p.open("spawn.pty.p0", nil), p.open("spawn.pty.p1", nil)
	channels := acceptAll(t, p.connect(e), ControlLabel, "spawn.pty.p0", "spawn.pty.p1")
	c, raw := channels["spawn.pty.p0"], pty.wait(t)

	sent := fill(t, c)
	// The window is all channels' together. A writer of another one waits in the stack, and can be released.
	beside := fill(t, channels["spawn.pty.p1"])
	for range beside {
		defer other.wait(t).ReadDataChannel(make([]byte, MessageMax))
	}
	if c.Sent() != uint64(sent*MessageMax) {
		t.Errorf("Sent() = %d after %d messages", c.Sent(), sent)
	}
	read := func(i int) {
		got := make([]byte, MessageMax)
		if n, _, err := raw.ReadDataChannel(got); err != nil || n != MessageMax || binary.BigEndian.Uint32(got) != uint32(i) {
			t.Fatalf("message %d: %d bytes, number %d, %v", i, n, binary.BigEndian.Uint32(got), err)
		}
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for i := sent; i < sent+50 && err == nil; i++ {
			err = c.Write(testContext(t), numbered(i))
		}
		done <- err
	}()
	for i := range sent + 50 {
		read(i)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestClosingReleasesReaderAndWriter(t *testing.T) {
	for name, end := range map[string]func(*Endpoint, *Peer, *Channel){
		"channel":  func(_ *Endpoint, _ *Peer, c *Channel) { c.Close() },
		"peer":     func(_ *Endpoint, p *Peer, _ *Channel) { p.Close() },
		"endpoint": func(e *Endpoint, _ *Peer, _ *Channel) { e.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			e, p := listen(t), loopbackPage(t)
			p.open("spawn.pty.p0", nil)
			peer := p.connect(e)
			c := acceptAll(t, peer, ControlLabel, "spawn.pty.p0")["spawn.pty.p0"]
			var work sync.WaitGroup
			work.Go(func() {
				if _, err := c.Read(); err == nil {
					t.Error("read something")
				}
			})
			fill(t, c)
			writing := make(chan struct{})
			work.Go(func() {
				close(writing)
				var err error
				for err == nil {
					err = c.Write(context.Background(), make([]byte, MessageMax))
				}
				wantClosed(t, err)
			})
			<-writing
			end(e, peer, c)
			work.Wait()
			wantClosed(t, c.Write(context.Background(), []byte("x")))
		})
	}
}

func TestThePagesCloseIsSeen(t *testing.T) {
	e, p := listen(t), loopbackPage(t)
	pty := p.open("spawn.pty.p0", nil)
	peer := p.connect(e)
	channels := acceptAll(t, peer, ControlLabel, "spawn.pty.p0")
	pty.wait(t).Close()
	if _, err := channels["spawn.pty.p0"].Read(); !errors.Is(err, io.EOF) {
		t.Errorf("a closed channel reads %v, want EOF", err)
	}
	channels["spawn.pty.p0"].Close()
	again := p.open("spawn.pty.p0", nil)
	c := accept(t, peer)
	if _, err := again.wait(t).Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Read(); err != nil || string(got) != "x" {
		t.Errorf("opened again: %q, %v", got, err)
	}
	p.pc.Close()
	awaitEnd(t, peer)
	_, err := peer.Accept(testContext(t))
	wantClosed(t, err)
}

func TestOnlyTheChannelsOfThePageAreTaken(t *testing.T) {
	no, zero, lifetime, protocol := false, uint16(0), uint16(100), "p"
	e, p := listen(t), loopbackPage(t)
	refused := map[string]*end{}
	for _, label := range []string{
		"", "spawn", "spawn.pty.", "spawn.pty.p", "spawn.pty.p00", "spawn.pty.p-1", "spawn.pty.p0 ", "spawn.pty.P0", "spawn.pty.p1234567890",
		"spawn.host.ctl", "spawn.ctl2", "Spawn.ctl", "spawn.pty.p0\n", "spawn.pty.p0/..", "spawn.pty.s0", strings.Repeat("x", 2000),
	} {
		refused[label] = p.open(label, nil)
	}
	for name, init := range map[string]*webrtc.DataChannelInit{
		"unordered": {Ordered: &no}, "few retransmits": {MaxRetransmits: &zero}, "short life": {MaxPacketLifeTime: &lifetime}, "protocol": {Protocol: &protocol},
	} {
		refused[name] = p.open("spawn.pty.p7", init)
	}
	good := p.open("spawn.pty.p123456789", nil)
	peer := p.connect(e)
	acceptAll(t, peer, ControlLabel, "spawn.pty.p123456789")
	good.wait(t)
	refused["a second control channel"] = p.open(ControlLabel, nil)
	for name, end := range refused {
		if _, err := io.ReadAll(end.wait(t)); err != nil {
			t.Errorf("%q: %v, want EOF", name, err)
		}
	}
	select {
	case c := <-peer.accepted:
		t.Errorf("%s was taken too", c.Label())
	default:
	}
}

func TestTheNumbersOfPeersChannelsAndCandidatesAreBounded(t *testing.T) {
	e, p := listen(t), loopbackPage(t)
	peer := p.connect(e)
	accept(t, peer)
	for i := range channelsMax + 8 {
		p.open(fmt.Sprintf("spawn.pty.p%d", i), nil).wait(t)
	}
	for range channelsMax - 1 {
		accept(t, peer)
	}
	select {
	case c := <-peer.accepted:
		t.Errorf("%s was taken beyond the bound", c.Label())
	default:
	}
	for i := range candidatesMax {
		if err := peer.AddCandidate(fmt.Sprintf("candidate:1 1 udp 1 127.0.0.1 %d typ host", 1000+i), "0", 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := peer.AddCandidate("candidate:1 1 udp 1 127.0.0.1 9 typ host", "0", 0); err == nil {
		t.Error("one candidate too many was taken")
	}

	offer := loopbackPage(t).offer()
	for i := 1; i < peersMax; i++ {
		if _, _, err := e.Answer(testContext(t), offer); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := e.Answer(testContext(t), offer); !errors.Is(err, ErrFull) {
		t.Errorf("one peer too many: %v", err)
	}
	peer.Close()
	if next, _, err := e.Answer(testContext(t), offer); err != nil {
		t.Errorf("after one has ended: %v", err)
	} else {
		next.Close()
	}
}

func TestCandidatesMayFollowTheOffer(t *testing.T) {
	e, p := listen(t), loopbackPage(t)
	offer, err := p.pc.CreateOffer(nil)
	if err != nil {
		t.Fatal(err)
	}
	peer, answer, err := e.Answer(testContext(t), offer.SDP)
	if err != nil {
		t.Fatal(err)
	}
	p.pc.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c != nil {
			init := c.ToJSON()
			if err := peer.AddCandidate(init.Candidate, *init.SDPMid, *init.SDPMLineIndex); err != nil {
				t.Error(err)
			}
		}
	})
	if err := p.pc.SetLocalDescription(offer); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(answer, "a=candidate:") || !strings.Contains(answer, "a=end-of-candidates") {
		t.Errorf("the answer does not hold our addresses:\n%s", answer)
	}
	p.take(answer)
	accept(t, peer)
}

func TestAPeerThatNobodyUsesEndsByItself(t *testing.T) {
	for state, want := range map[webrtc.PeerConnectionState][2]bool{
		webrtc.PeerConnectionStateNew: {false, false}, webrtc.PeerConnectionStateConnecting: {false, false}, webrtc.PeerConnectionStateConnected: {false, false},
		webrtc.PeerConnectionStateDisconnected: {false, true}, webrtc.PeerConnectionStateFailed: {true, true}, webrtc.PeerConnectionStateClosed: {true, true},
	} {
		if got := [2]bool{over(state, false), over(state, true)}; got != want {
			t.Errorf("%v: over with and without signalling: %v, want %v", state, got, want)
		}
	}
}
