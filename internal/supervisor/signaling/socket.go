// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/access"
)

// A Peer is one page's connection, made by Peers.Answer.
type Peer interface {
	// AddCandidate adds an address of the page's. An error ends the signalling.
	AddCandidate(candidate, mid string, line uint16) error
	// Done is closed when the connection has ended.
	Done() <-chan struct{}
	// Orphan says that the signalling has ended. The peer may go on without it.
	Orphan()
}

// Peers makes peers for who has signed the offer. The answer must hold every address of ours, since nothing can
// be added to it later. An error is told to the page as busy, unless it is ErrProtocol, ErrVisits or
// access.ErrLink.
type Peers interface {
	Answer(ctx context.Context, who access.Entrant, offerSDP string) (Peer, string, error)
}

// ErrVisits means that as many are open by the link, or by all links, as may be.
var ErrVisits = errors.New("too many visits are open")

// socket is one signalling WebSocket: challenge, at most one pairing, one offer, then candidates. It stays
// open as long as its peer lives, so that its end tells the page at once that spawnd has ended.
type socket struct {
	server    *Server
	conn      *websocket.Conn
	challenge *access.Challenge
	known     func()      // told once, when the page has shown that it may come in
	held      []candidate // that came before the answer
}

// signal serves a request that the gate has let through and that speaks our subprotocol.
func (s *Server) signal(w http.ResponseWriter, r *http.Request) {
	source, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !s.sockets.take(source) {
		refuse(w)
		return
	}
	defer s.sockets.put(source)
	known := sync.OnceFunc(s.sockets.known)
	defer known()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{Subprotocol},
		// The gate has compared Origin as a whole; this lets the library's own check agree when Host
		// names a port that Origin leaves away.
		OriginPatterns:  []string{literal.Replace(r.Header.Get("Origin"))},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return // the library has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(messageMax)
	sock := &socket{server: s, conn: conn, known: known}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	if err := sock.serve(ctx, cancel); err != nil {
		sock.end(err)
	}
}

// literal keeps the library from reading an origin as a pattern.
var literal = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `*`, `\*`, `?`, `\?`)

// serve returns nil when the page or the peer has ended the conversation.
func (k *socket) serve(ctx context.Context, cancel func()) error {
	early, stop := context.WithTimeout(ctx, handshakeTime)
	defer stop()
	peer, err := k.handshake(early)
	if err != nil {
		return err
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-peer.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	err = k.candidates(ctx, peer)
	cancel()
	<-watched
	peer.Orphan()
	return err
}

// handshake returns the peer once the page has its answer.
func (k *socket) handshake(ctx context.Context) (Peer, error) {
	if err := k.challengePage(ctx); err != nil {
		return nil, err
	}
	for {
		m, err := k.read(ctx)
		if err != nil {
			return nil, err
		}
		switch m.Type {
		case "pair":
			if err := k.pair(ctx, m); err != nil {
				return nil, err
			}
		case "candidate":
			if len(k.held) == candidatesMax {
				return nil, ErrProtocol
			}
			k.held = append(k.held, *m.Candidate)
		case "offer":
			return k.offer(ctx, m)
		case "visit":
			return k.visit(ctx, m)
		}
	}
}

func (k *socket) challengePage(ctx context.Context) error {
	var err error
	if k.challenge, err = k.server.door.Challenge(); err != nil {
		return err
	}
	return k.write(ctx, challengeMessage{Type: "challenge", Proto: proto, Nonce: k.challenge.Nonce(), HostKey: k.server.door.HostKey()})
}

func (k *socket) pair(ctx context.Context, m inbound) error {
	pairing, err := k.server.door.Pair(k.challenge, m.pairRequest())
	if err != nil {
		return err
	}
	k.server.log.Info("paired a browser", "device", pairing.Device.ID)
	return k.write(ctx, pairedMessage{Type: "paired", Device: pairing.Device.ID, HostName: k.server.hostName, MAC: pairing.MAC})
}

// offer answers a paired browser.
func (k *socket) offer(ctx context.Context, m inbound) (Peer, error) {
	offer := m.offer()
	device, err := k.server.door.CheckOffer(k.challenge, offer)
	if err != nil {
		return nil, err
	}
	who := access.Entrant{Who: access.Principal{Kind: access.KindDevice, ID: device.ID}, Name: device.Name}
	return k.answer(ctx, who, offer.SDP, func(sdp string) string { return k.server.door.SignAnswer(k.challenge, offer, sdp) })
}

// visit answers who holds a share link.
func (k *socket) visit(ctx context.Context, m inbound) (Peer, error) {
	visit := m.visit()
	link, err := k.server.door.CheckVisit(k.challenge, visit, k.server.links)
	if err != nil {
		return nil, err
	}
	return k.answer(ctx, access.Visitor(link), visit.SDP, func(sdp string) string { return k.server.door.SignWelcome(k.challenge, visit, sdp) })
}

// answer makes the peer of who has shown that they may come in, and sends its signed answer.
func (k *socket) answer(ctx context.Context, who access.Entrant, offerSDP string, sign func(sdp string) string) (Peer, error) {
	k.known() // before the page has its answer, and with it a reason to come again
	making, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	peer, sdp, err := k.server.peers.Answer(making, who, offerSDP)
	if err != nil {
		return nil, err
	}
	err = k.write(ctx, answerMessage{Type: "answer", SDP: sdp, Sig: sign(sdp)})
	for _, c := range k.held {
		err = errors.Join(err, peer.AddCandidate(c.Candidate, c.SDPMid, c.SDPMLineIndex))
	}
	k.held = nil
	if err != nil {
		peer.Orphan()
		return nil, err
	}
	return peer, nil
}

// candidates takes the page's further addresses until the page leaves or ctx ends.
func (k *socket) candidates(ctx context.Context, peer Peer) error {
	for {
		m, err := k.read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if m.Type != "candidate" {
			return ErrProtocol
		}
		if err := peer.AddCandidate(m.Candidate.Candidate, m.Candidate.SDPMid, m.Candidate.SDPMLineIndex); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
	}
}

// errLeft means that the page has closed the socket, or the time for a handshake is over.
var errLeft = errors.New("socket has ended")

func (k *socket) read(ctx context.Context) (inbound, error) {
	kind, text, err := k.conn.Read(ctx)
	if err != nil {
		return inbound{}, fmt.Errorf("%w: %w", errLeft, err)
	}
	if kind != websocket.MessageText {
		return inbound{}, ErrProtocol
	}
	return parse(text)
}

func (k *socket) write(ctx context.Context, m any) error {
	text, err := strictjson.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := k.conn.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	return nil
}

// end says why, if there is somebody to say it to.
func (k *socket) end(err error) {
	if errors.Is(err, errLeft) {
		return
	}
	m := refusal(err)
	if m.Code == "busy" {
		k.server.log.Warn("refused a browser", "code", m.Code, "error", err)
	} else {
		k.server.log.Info("refused a browser", "code", m.Code)
	}
	if k.write(k.server.ctx, m) == nil {
		_ = k.conn.Close(websocket.StatusPolicyViolation, m.Code)
	}
}
