// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
)

// A gate knows the names under which this server is spoken to. Listening on loopback keeps nobody out
// who can make the user's own browser ask, under a name of their own (rebinding) or from a page of
// their own. Each browser says for whom it asks, and only what it says is compared, as a whole.
type gate struct {
	origins map[string]string // by the Host header that goes with it
}

// newGate admits the bound loopback address, localhost with its port, and further origins, which are
// written as browsers write them: http://name:port or https://name.
func newGate(bound netip.AddrPort, further []string) (*gate, error) {
	g := &gate{origins: map[string]string{}}
	port := strconv.Itoa(int(bound.Port()))
	g.admit("http", bound.Addr().String(), port)
	g.admit("http", "localhost", port)
	for _, origin := range further {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.Scheme+"://"+u.Host != origin {
			return nil, fmt.Errorf("allowed origin %q: want http://name:port or https://name:port", origin)
		}
		g.admit(u.Scheme, u.Hostname(), u.Port())
	}
	return g, nil
}

// admit notes an origin. A browser leaves the scheme's own port away, a proxy may name it; both mean
// the same.
func (g *gate) admit(scheme, host, port string) {
	usual := map[string]string{"http": "80", "https": "443"}[scheme]
	if port == "" {
		port = usual
	}
	full := net.JoinHostPort(host, port)
	if port != usual {
		g.origins[full] = scheme + "://" + full
		return
	}
	short := full[:len(full)-len(":"+port)]
	g.origins[full], g.origins[short] = scheme+"://"+short, scheme+"://"+short
}

// passes decides from the request's head alone, before anything else is looked at. It lets through what
// our own page asks for, and a person who opens the page from anywhere.
func (g *gate) passes(r *http.Request) bool {
	origin, known := g.origins[r.Host]
	switch {
	case !known, r.URL.Host != "", r.RequestURI == "", r.RequestURI[0] != '/':
		return false
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return false
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return false
	}
	if sent := r.Header.Values("Origin"); len(sent) > 1 || (len(sent) == 1 && sent[0] != origin) {
		return false
	}
	return sameSite(r)
}

// sameSite reads what newer browsers say about who asks. Other pages may send a person here and no more.
func sameSite(r *http.Request) bool {
	site := r.Header.Values("Sec-Fetch-Site")
	switch {
	case len(site) == 0:
		return true
	case len(site) > 1:
		return false
	case site[0] == "same-origin" || site[0] == "none":
		return true
	}
	return r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// speaks reports whether a request that passes is our page's wish for a signalling socket. Origin must be
// there: what has none is no page, and needs no signalling.
func (g *gate) speaks(r *http.Request) bool {
	protocols := r.Header.Values("Sec-Websocket-Protocol")
	return r.Method == http.MethodGet && len(r.Header.Values("Origin")) == 1 && len(protocols) == 1 && protocols[0] == Subprotocol
}
