// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"context"
	"sync"

	"spawn/internal/supervisor/access"
)

// fakePeers answers every offer, and keeps what it was given.
type fakePeers struct {
	mu    sync.Mutex
	peers []*fakePeer
	err   error // of Answer
}

type fakePeer struct {
	who        access.Entrant
	offer      string
	candidates chan string
	orphaned   chan struct{}
	done       chan struct{}
}

func (f *fakePeers) Answer(_ context.Context, who access.Entrant, offer string) (Peer, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, "", f.err
	}
	p := &fakePeer{who, offer, make(chan string, candidatesMax+1), make(chan struct{}), make(chan struct{})}
	f.peers = append(f.peers, p)
	return p, "answer to " + offer, nil
}

func (f *fakePeers) answered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.peers)
}

func (f *fakePeers) last() *fakePeer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peers[len(f.peers)-1]
}

func (p *fakePeer) AddCandidate(candidate, _ string, _ uint16) error {
	p.candidates <- candidate
	return nil
}
func (p *fakePeer) Done() <-chan struct{} { return p.done }
func (p *fakePeer) Orphan()               { close(p.orphaned) }
