// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/webrtc/v4"
)

// Peer is one page's connection. Its goroutine, run, owns its end: every way to end a peer only wakes it.
type Peer struct {
	endpoint    *Endpoint
	pc          *webrtc.PeerConnection
	certificate fingerprint // that the page must present; from its signed offer

	accepted chan *Channel // opened by the page and not yet taken; never closed
	changed  chan struct{} // the connection's state has changed; holds one
	orphaned chan struct{} // closed when signalling has gone
	ready    chan struct{} // closed when the control channel has opened
	stopping chan struct{} // closed to end the peer
	done     chan struct{} // closed when everything of the peer has ended

	stopOnce, orphanOnce sync.Once
	heard                atomic.Uint64 // messages on the control channel

	mu struct {
		sync.Mutex
		ended      bool
		channels   map[string]*Channel // by label
		candidates int
	}
}

func newPeer(e *Endpoint, pc *webrtc.PeerConnection, certificate fingerprint) *Peer {
	p := &Peer{
		endpoint: e, pc: pc, certificate: certificate,
		accepted: make(chan *Channel, channelsMax),
		changed:  make(chan struct{}, 1),
		orphaned: make(chan struct{}),
		ready:    make(chan struct{}),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
	}
	p.mu.channels = map[string]*Channel{}
	// The stack calls these from goroutines of its own, in no sure order; so they only wake run.
	pc.OnConnectionStateChange(func(webrtc.PeerConnectionState) { p.wake() })
	pc.SCTP().OnClose(func(error) { p.stop() })
	pc.OnDataChannel(func(dc *webrtc.DataChannel) { dc.OnOpen(func() { p.admit(dc) }) })
	return p
}

func (p *Peer) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // a wake-up is waiting already, and run looks at the state itself
	}
}

// stop asks run to end the peer and does not wait.
func (p *Peer) stop() { p.stopOnce.Do(func() { close(p.stopping) }) }

// Close ends the peer and waits until all of it has ended.
func (p *Peer) Close() {
	p.stop()
	<-p.done
}

// Done is closed when the peer has ended, whoever ended it.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Orphan says that the peer's signalling is gone. A page that lives says so at once on its control channel
// and goes on over its channels. From one that says nothing for orphanQuiet, or whose path is lost as well,
// nobody is there: the peer ends without the wait that a sleeping laptop gets.
func (p *Peer) Orphan() { p.orphanOnce.Do(func() { close(p.orphaned) }) }

// run waits for the first reason to end, then ends everything.
func (p *Peer) run() {
	p.await()
	p.mu.Lock()
	p.mu.ended = true
	open := p.mu.channels
	p.mu.channels = nil
	p.mu.Unlock()
	for _, c := range open {
		c.release()
	}
	if err := p.pc.GracefulClose(); err != nil {
		p.endpoint.log.Debug("closing a peer connection", "error", err)
	}
	p.endpoint.remove(p)
	close(p.done)
}

func (p *Peer) await() {
	deadline := time.NewTimer(connectTimeout)
	defer deadline.Stop()
	orphaned, ready := p.orphaned, p.ready // nil once seen
	var quiet <-chan time.Time             // nil until orphaned
	var heard uint64
	for {
		select {
		case <-p.stopping:
			return
		case <-deadline.C:
			return
		case <-ready:
			ready = nil
			deadline.Stop()
		case <-orphaned:
			orphaned = nil
			heard, quiet = p.heard.Load(), time.After(orphanQuiet)
		case <-quiet:
			if p.heard.Load() == heard {
				return
			}
		case <-p.changed:
		}
		if over(p.pc.ConnectionState(), orphaned == nil) {
			return
		}
	}
}

// over decides whether a connection in this state can still serve anybody.
func over(s webrtc.PeerConnectionState, orphaned bool) bool {
	switch s {
	case webrtc.PeerConnectionStateFailed, webrtc.PeerConnectionStateClosed:
		return true
	case webrtc.PeerConnectionStateDisconnected:
		return orphaned
	}
	return false
}

// negotiate applies the offer and returns the answer once all own addresses are in it.
func (p *Peer) negotiate(ctx context.Context, offer string) (string, error) {
	if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}); err != nil {
		return "", fmt.Errorf("%w: apply the offer: %w", ErrDescription, err)
	}
	answer, err := p.pc.CreateAnswer(nil)
	if err != nil {
		return "", fmt.Errorf("%w: make the answer: %w", ErrDescription, err)
	}
	gathered := webrtc.GatheringCompletePromise(p.pc)
	if err := p.pc.SetLocalDescription(answer); err != nil {
		return "", fmt.Errorf("apply the answer: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	select {
	case <-gathered:
	case <-ctx.Done():
		return "", fmt.Errorf("gather own addresses: %w", context.Cause(ctx))
	case <-p.done:
		return "", ErrClosed
	}
	sdp := p.pc.LocalDescription().SDP
	if _, err := checkDescription(sdp); err != nil {
		return "", fmt.Errorf("check the own answer: %w", err)
	}
	return sdp, nil
}

// AddCandidate adds one address of the page's. It comes from whoever relays signalling and is not
// signed: it can lead packets astray, and DTLS ends what is not the page.
func (p *Peer) AddCandidate(candidate, mid string, line uint16) error {
	p.mu.Lock()
	p.mu.candidates++
	tooMany := p.mu.candidates > candidatesMax
	p.mu.Unlock()
	if tooMany {
		return fmt.Errorf("add candidate: more than %d", candidatesMax)
	}
	if err := p.pc.AddICECandidate(webrtc.ICECandidateInit{Candidate: candidate, SDPMid: &mid, SDPMLineIndex: &line}); err != nil {
		return fmt.Errorf("add candidate: %w", err)
	}
	return nil
}

// Accept returns the next channel that the page has opened. It must be read until it fails. ErrClosed
// when the peer has ended.
func (p *Peer) Accept(ctx context.Context) (*Channel, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.stopping:
	case <-p.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return nil, ErrClosed
}

// admit takes a channel that has opened, or closes it: over the bound, of another kind or label, or
// from a peer whose certificate is not the signed one.
func (p *Peer) admit(dc *webrtc.DataChannel) {
	raw, err := dc.DetachWithDeadline()
	if err != nil {
		return // the connection has ended meanwhile
	}
	stream, ok := raw.(stream)
	if !ok || !reliable(dc) || !validLabel(dc.Label()) || !p.genuine() {
		_ = raw.Close()
		return
	}
	c := newChannel(p, dc.Label(), stream)
	if !p.enlist(c) {
		c.release()
	}
}

// enlist puts the channel among the peer's. A second one of a pane takes the place of the first, whose
// end may still be on its way; of the control channel there is only one.
func (p *Peer) enlist(c *Channel) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.mu.channels[c.label]
	if p.mu.ended || len(p.mu.channels) == channelsMax || (old != nil && c.label == ControlLabel) {
		return false
	}
	select {
	case p.accepted <- c:
	default:
		return false // more are waiting than may be open
	}
	p.mu.channels[c.label] = c
	if old != nil {
		old.release()
	}
	if c.label == ControlLabel {
		p.becomeReady()
	}
	return true
}

// becomeReady is called with mu held, so that it happens once.
func (p *Peer) becomeReady() {
	select {
	case <-p.ready:
	default:
		close(p.ready)
	}
}

func (p *Peer) delist(c *Channel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.channels[c.label] == c {
		delete(p.mu.channels, c.label)
	}
}

// genuine compares the certificate that DTLS has seen with the signed fingerprint. The stack has done so
// too; this does not rest on which of an SDP's lines it reads.
func (p *Peer) genuine() bool {
	seen := p.pc.SCTP().Transport().GetRemoteCertificate()
	return len(seen) > 0 && fingerprint(sha256.Sum256(seen)) == p.certificate
}

func reliable(dc *webrtc.DataChannel) bool {
	return dc.Ordered() && dc.MaxRetransmits() == nil && dc.MaxPacketLifeTime() == nil && dc.Protocol() == ""
}
