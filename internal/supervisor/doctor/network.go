// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"net/http"
	"net/netip"

	"spawn/internal/supervisor/loopback"
)

// stranger is a name under which no page of ours is ever asked for (RFC 2606).
const stranger = "stranger.example"

// peers tries the address of the channels. A port that spawnd holds cannot be bound again, so beside a
// running one another is.
func peers(ctx context.Context, e Env) Finding {
	page, err := loopback.Parse(e.Effective.Serve.Listen)
	if err != nil {
		return fail("serve.listen: %v", err)
	}
	at := netip.AddrPortFrom(page.Addr(), uint16(e.Effective.Serve.PeerPort))
	if e.Daemon != nil {
		at = netip.AddrPortFrom(e.Daemon.Peers.Addr(), 0)
		if err := e.Network.Reach(ctx, e.Daemon.Peers); err != nil {
			return fail("%v cannot be reached by TCP: %v", e.Daemon.Peers, err)
		}
	}
	if err := e.Network.Loop(ctx, "udp", at); err != nil {
		return fail("%v does not work for UDP: %v", at, err)
	}
	if err := e.Network.Loop(ctx, "tcp", at); err != nil {
		return fail("%v does not work for TCP: %v", at, err)
	}
	return ok("channels work on %v, over UDP and TCP", at.Addr())
}

// origin asks the page as our own and as others would.
func origin(ctx context.Context, e Env) Finding {
	if e.Daemon == nil {
		return info("spawnd does not run")
	}
	page := e.Daemon.Page
	if !page.Addr().IsLoopback() {
		return fail("the page is served on %v, where others can reach it", page)
	}
	for _, ask := range []struct {
		host, origin string
		want         int
	}{
		{page.String(), "", http.StatusOK},
		{page.String(), "http://" + page.String(), http.StatusOK},
		{stranger, "", http.StatusForbidden},
		{page.String(), "http://" + stranger, http.StatusForbidden},
		{page.String(), "null", http.StatusForbidden},
	} {
		got, err := e.Network.Ask(ctx, page, ask.host, ask.origin)
		switch {
		case err != nil:
			return fail("the page on %v does not answer: %v", page, err)
		case got != ask.want && ask.want == http.StatusOK:
			return fail("the page on %v answers its own browser with %d", page, got)
		case got != ask.want:
			return fail("the page on %v answers strangers with %d (host %s, origin %q)", page, got, ask.host, ask.origin)
		}
	}
	return ok("%v answers its own page and refuses strangers", page)
}
