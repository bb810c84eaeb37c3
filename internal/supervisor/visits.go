// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"sync"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/page"
)

const (
	// visitsOfLinkMax bounds the browsers that have one link open: a handful of people who look together.
	visitsOfLinkMax = 8
	// visitsMax bounds those of all links together, far below the connections that there may be, so that no
	// number of visitors keeps a paired browser out.
	visitsMax = 24
)

// visits counts the browsers that are in by share links, from their answer to the end of their connection.
type visits struct {
	mu struct {
		sync.Mutex
		all  int
		open map[string]int // by link
	}
}

// begin counts one in, or reports that there is no room.
func (v *visits) begin(link string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.all == visitsMax || v.mu.open[link] == visitsOfLinkMax {
		return false
	}
	if v.mu.open == nil {
		v.mu.open = map[string]int{}
	}
	v.mu.all++
	v.mu.open[link]++
	return true
}

func (v *visits) end(link string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.all--
	if v.mu.open[link]--; v.mu.open[link] == 0 {
		delete(v.mu.open, link)
	}
}

// of is how many have the link open.
func (v *visits) of(link string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.open[link]
}

// visitOf says to a page by which link it is there; nil for a paired browser.
func visitOf(e access.Entrant) *page.Visit {
	if e.Who.Kind != access.KindShare {
		return nil
	}
	l := access.Link{Grant: e.Link}
	return &page.Visit{Resource: string(e.Link.Scopes[0].On), Right: l.Right().String(), ExpiresAt: uint64(l.Expires.UnixMilli())}
}

// admissionOf is what a page's connection goes on by: a browser for as long as it is paired, a visitor for as long
// as the link shows what it leads to.
func admissionOf(e access.Entrant, end context.CancelFunc) *admission {
	a := &admission{who: e.Who, page: true, end: end}
	if e.Who.Kind == access.KindShare {
		a.right, a.on = access.Read, e.Link.Scopes[0].On
	}
	return a
}
