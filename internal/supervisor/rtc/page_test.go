// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/pion/datachannel"
	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"
)

// testTime bounds what a test waits for; nothing takes it when all is right.
const testTime = 30 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	t.Cleanup(cancel)
	return ctx
}

func listen(t *testing.T) *Endpoint {
	t.Helper()
	e, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// page is the browser's side, made of the same stack with a browser's settings.
type page struct {
	t   *testing.T
	pc  *webrtc.PeerConnection
	api *webrtc.API
	ctl *end
}

// end is the page's end of a channel.
type end struct {
	dc     *webrtc.DataChannel
	opened chan datachannel.ReadWriteCloser
}

func newPage(t *testing.T, s webrtc.SettingEngine, c webrtc.Configuration) *page {
	t.Helper()
	s.LoggerFactory = stackLogs{slog.New(slog.DiscardHandler)}
	s.DetachDataChannels()
	api := webrtc.NewAPI(webrtc.WithSettingEngine(s))
	pc, err := api.NewPeerConnection(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, pc: pc, api: api}
	t.Cleanup(func() { pc.GracefulClose() })
	p.ctl = p.open(ControlLabel, nil)
	return p
}

func loopbackPage(t *testing.T) *page {
	t.Helper()
	return newPage(t, loopbackSettings(), webrtc.Configuration{})
}

func loopbackSettings() webrtc.SettingEngine {
	var s webrtc.SettingEngine
	s.SetIncludeLoopbackCandidate(true)
	s.SetInterfaceFilter(func(name string) bool { return name == "lo" })
	s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	s.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	return s
}

func (p *page) open(label string, init *webrtc.DataChannelInit) *end {
	p.t.Helper()
	dc, err := p.pc.CreateDataChannel(label, init)
	if err != nil {
		p.t.Fatal(err)
	}
	e := &end{dc, make(chan datachannel.ReadWriteCloser, 1)}
	dc.OnOpen(func() {
		if raw, err := dc.Detach(); err == nil {
			e.opened <- raw
		}
	})
	return e
}

func (e *end) wait(t *testing.T) datachannel.ReadWriteCloser {
	t.Helper()
	select {
	case raw := <-e.opened:
		e.opened <- raw
		return raw
	case <-testContext(t).Done():
		t.Fatal("the channel did not open")
		return nil
	}
}

// offer returns an offer with all of the page's addresses.
func (p *page) offer() string {
	p.t.Helper()
	gathered := webrtc.GatheringCompletePromise(p.pc)
	offer, err := p.pc.CreateOffer(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.pc.SetLocalDescription(offer); err != nil {
		p.t.Fatal(err)
	}
	<-gathered
	return p.pc.LocalDescription().SDP
}

func (p *page) take(answer string) {
	p.t.Helper()
	if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		p.t.Fatal(err)
	}
}

// connect answers the page's offer as it is.
func (p *page) connect(e *Endpoint) *Peer {
	p.t.Helper()
	peer, answer, err := e.Answer(testContext(p.t), p.offer())
	if err != nil {
		p.t.Fatal(err)
	}
	p.take(answer)
	return peer
}

func accept(t *testing.T, p *Peer) *Channel {
	t.Helper()
	c, err := p.Accept(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// acceptAll takes channels until all of the labels are there.
func acceptAll(t *testing.T, p *Peer, labels ...string) map[string]*Channel {
	t.Helper()
	got := map[string]*Channel{}
	for range labels {
		c := accept(t, p)
		got[c.Label()] = c
	}
	for _, label := range labels {
		if got[label] == nil {
			t.Fatalf("accepted %v, not %s", got, label)
		}
	}
	return got
}

func newCertificate(t *testing.T) webrtc.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c, err := webrtc.GenerateCertificate(key)
	if err != nil {
		t.Fatal(err)
	}
	return *c
}

func awaitEnd(t *testing.T, p *Peer) {
	t.Helper()
	select {
	case <-p.Done():
	case <-testContext(t).Done():
		t.Fatal("the peer did not end")
	}
}

func wantClosed(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}
