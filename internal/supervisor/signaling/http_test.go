// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"spawn/internal/supervisor/access"
)

// testTime bounds what a test waits for; nothing takes it when all is right.
const testTime = 30 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	t.Cleanup(cancel)
	return ctx
}

var builtPage = fstest.MapFS{
	"index.html":          {Data: []byte("<!doctype html><title>spawn</title>")},
	"assets/app-1234.js":  {Data: []byte("export {}")},
	"assets/app-1234.css": {Data: []byte("body{}")},
	"secret.txt":          {Data: []byte("not of the page")},
}

// desk is a server under test, with peers that do what the test says.
type desk struct {
	server *Server
	door   *access.Door
	rights *access.Authority // over one pane, p0
	peers  *fakePeers
	stop   func() // ends the server and waits
}

func openDesk(t *testing.T, origins ...string) *desk {
	t.Helper()
	door, err := access.Open(t.TempDir(), access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	peers := &fakePeers{}
	rights := newRights(t, door)
	server, err := New(ln, Options{Door: door, Links: rights, Peers: peers, App: builtPage, HostName: "box", Origins: origins, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		door.Close()
	})
	t.Cleanup(stop)
	return &desk{server, door, rights, peers, stop}
}

func (d *desk) authority() string { return d.server.ln.Addr().String() }

func (d *desk) port() string {
	_, port, _ := net.SplitHostPort(d.authority())
	return port
}

// ask sends the text of a request as it is and returns the answer, read to its end.
func (d *desk) ask(t *testing.T, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", d.authority())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(testTime))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no answer to %q: %v", request, err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, ""
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func get(path, host string, headers ...string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, host, lines(headers))
}

func lines(headers []string) string {
	text := ""
	for _, h := range headers {
		text += h + "\r\n"
	}
	return text
}

// upgrade is a browser's request for the signalling socket.
func upgrade(host string, headers ...string) string {
	return get(socketPath, host, append([]string{
		"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
		"Sec-WebSocket-Protocol: " + Subprotocol,
	}, headers...)...)
}

func wantRefused(t *testing.T, name string, resp *http.Response, body string) {
	t.Helper()
	resp.Header.Del("Date")
	if resp.StatusCode != http.StatusForbidden || body != "refused\n" || len(resp.Header) != 3 {
		t.Errorf("%s: %s, %q, %v; want the one refusal", name, resp.Status, body, resp.Header)
	}
}

func TestThePageIsServedUnderItsOwnNamesAlone(t *testing.T) {
	d := openDesk(t, "https://term.example", "http://box.lan:8080")
	port := d.port()
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port, "term.example", "term.example:443", "box.lan:8080"} {
		resp, body := d.ask(t, get("/", host))
		if resp.StatusCode != http.StatusOK || body != string(builtPage["index.html"].Data) {
			t.Errorf("Host %s: %s %q", host, resp.Status, body)
		}
	}
	for _, host := range []string{
		"", "evil.test", "evil.test:" + port, "127.0.0.1", "localhost", "127.0.0.1:1", "localhost.:" + port, "LOCALHOST:" + port,
		"localhost.evil.test:" + port, "127.0.0.1.evil.test:" + port, "0.0.0.0:" + port, "[::ffff:127.0.0.1]:" + port, "[::1]:" + port,
		"127.1:" + port, "2130706433:" + port, "127.0.0.1:" + port + "0", "127.0.0.1:0" + port, "user@127.0.0.1:" + port, "127.0.0.2:" + port,
		"term.example:80", "term.example:8080", "box.lan", "xterm.example", "term.example.evil.test", "term.example:443.evil.test",
	} {
		resp, body := d.ask(t, get("/", host))
		if resp.StatusCode == http.StatusBadRequest {
			continue // the HTTP library itself refuses what is no host at all
		}
		wantRefused(t, "Host "+host, resp, body)
	}
	own := d.authority()
	for name, request := range map[string]string{
		"absolute form, foreign":  "GET http://evil.test/ HTTP/1.1\r\nHost: " + own + "\r\n\r\n",
		"absolute form, own":      "GET http://" + own + "/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"forwarded host":          get("/", "evil.test", "X-Forwarded-Host: "+own, "Forwarded: host="+own),
		"rebound, with no origin": get("/", "evil.test:"+port),
		"asterisk":                "OPTIONS * HTTP/1.1\r\nHost: " + own + "\r\n\r\n",
		"connect":                 "CONNECT " + own + " HTTP/1.1\r\nHost: " + own + "\r\n\r\n",
	} {
		resp, body := d.ask(t, request)
		wantRefused(t, name, resp, body)
	}
	for name, request := range map[string]string{
		"two hosts": "GET / HTTP/1.1\r\nHost: " + own + "\r\nHost: evil.test\r\n\r\n",
		"no host":   "GET / HTTP/1.1\r\n\r\n",
	} {
		if resp, _ := d.ask(t, request); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
}

func TestASocketIsOpenedForOurOwnOriginAlone(t *testing.T) {
	d := openDesk(t, "https://term.example")
	port, own := d.port(), d.authority()
	for host, origin := range map[string]string{
		own: "http://" + own, "localhost:" + port: "http://localhost:" + port, "term.example": "https://term.example", "term.example:443": "https://term.example",
	} {
		if resp, _ := d.ask(t, upgrade(host, "Origin: "+origin)); resp.StatusCode != http.StatusSwitchingProtocols {
			t.Errorf("Host %s, Origin %s: %s", host, origin, resp.Status)
		}
	}
	for _, origin := range []string{
		"https://evil.example", "http://evil.example:" + port, "null", "", "http://127.0.0.1:9999", "http://127.0.0.1", "http://localhost:" + port,
		"HTTP://" + own, "http://127.0.0.1.:" + port, "https://" + own, "ws://" + own, "http://" + own + "/", "http://" + own + "/x", "http://user@" + own,
		"http://127.0.0.1:" + port + ".evil.example", "http://evil.example/" + own, "http://" + own + "?", "http://*", "*", "http://" + own + " ,http://evil.example",
		"file://", "chrome-extension://abcdefghijklmnop", "http://[::1]:" + port,
	} {
		resp, body := d.ask(t, upgrade(own, "Origin: "+origin))
		wantRefused(t, "Origin "+origin, resp, body)
	}
	for name, request := range map[string]string{
		"no origin":             upgrade(own),
		"no origin, cookie":     upgrade(own, "Cookie: session=1", "Authorization: Bearer x"),
		"two origins":           upgrade(own, "Origin: http://"+own, "Origin: http://evil.example"),
		"foreign host":          upgrade("evil.test:"+port, "Origin: http://evil.test:"+port),
		"cross-site":            upgrade(own, "Origin: http://"+own, "Sec-Fetch-Site: cross-site"),
		"same site":             upgrade(own, "Origin: http://"+own, "Sec-Fetch-Site: same-site"),
		"no subprotocol":        strings.Replace(upgrade(own, "Origin: http://"+own), "Sec-WebSocket-Protocol: "+Subprotocol+"\r\n", "", 1),
		"another subprotocol":   strings.Replace(upgrade(own, "Origin: http://"+own), Subprotocol, "spawn.signal.v0", 1),
		"one more subprotocol":  upgrade(own, "Origin: http://"+own, "Sec-WebSocket-Protocol: x"),
		"HEAD":                  strings.Replace(upgrade(own, "Origin: http://"+own), "GET", "HEAD", 1),
		"another path":          strings.Replace(upgrade(own, "Origin: http://"+own), socketPath, "/api/signal/x", 1),
		"path-chosen session":   strings.Replace(upgrade(own, "Origin: http://127.0.0.1:9999"), socketPath, "/api/attacker1", 1),
		"a body":                upgrade(own, "Origin: http://"+own, "Content-Length: 1") + "x",
		"no upgrade, no origin": get(socketPath, own),
	} {
		resp, body := d.ask(t, request)
		if strings.HasPrefix(request, "HEAD") {
			body += "refused\n" // HEAD has none
		}
		wantRefused(t, name, resp, body)
	}
	if n := d.peers.answered(); n != 0 {
		t.Errorf("%d peers were made", n)
	}
}

func TestOtherSitesMayOnlySendAPersonHere(t *testing.T) {
	d := openDesk(t)
	own := d.authority()
	navigation := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	if resp, _ := d.ask(t, get("/", own, navigation...)); resp.StatusCode != http.StatusOK {
		t.Errorf("a link from elsewhere: %s", resp.Status)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"} {
		for _, path := range []string{"/", socketPath, "/assets/app-1234.js"} {
			request := strings.Replace(get(path, own, "Content-Length: 0", "Content-Type: text/plain"), "GET", method, 1)
			resp, body := d.ask(t, request)
			wantRefused(t, method+" "+path, resp, body)
		}
	}
	for name, request := range map[string]string{
		"fetch":             get("/", own, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty"),
		"script":            get("/assets/app-1234.js", own, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"),
		"frame":             get("/", own, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"),
		"asset by link":     get("/assets/app-1234.js", own, navigation...),
		"another port":      get("/", own, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"),
		"fetch with origin": get("/", own, "Origin: http://evil.example"),
		"two sites":         get("/", own, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"),
		"chunked body":      get("/", own, "Transfer-Encoding: chunked") + "0\r\n\r\n",
	} {
		resp, body := d.ask(t, request)
		wantRefused(t, name, resp, body)
	}
}

func TestAStrangerCannotTellRoutesApart(t *testing.T) {
	d := openDesk(t)
	own := d.authority()
	for _, path := range []string{
		"/index.html", "/api", "/api/", socketPath, "/assets", "/assets/", "/assets/none.js", "/secret.txt", "/assets/../secret.txt", "/..%2fsecret.txt",
		"/favicon.ico", "//", "/%00", "/assets/app-1234.js/", "/debug/pprof/", "/.git/config", "/" + strings.Repeat("x", 4000),
	} {
		resp, body := d.ask(t, get(path, own))
		wantRefused(t, path, resp, body)
		resp, body = d.ask(t, get(path, "evil.test"))
		wantRefused(t, path+" at a foreign name", resp, body)
	}
}

func TestThePageIsBoundInTheBrowser(t *testing.T) {
	d := openDesk(t)
	own := d.authority()
	for path, want := range map[string]struct{ kind, cache string }{
		"/":                     {"text/html; charset=utf-8", "no-store"},
		"/assets/app-1234.js":   {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		"/assets/app-1234.css":  {"text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		"/assets/app-1234.js?x": {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
	} {
		resp, _ := d.ask(t, get(path, own, "Sec-Fetch-Site: same-origin"))
		for name, value := range map[string]string{
			"Content-Type": want.kind, "Cache-Control": want.cache, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := resp.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
		policy := resp.Header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
			"connect-src 'self' ws://" + own, "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
		} {
			if !strings.Contains(policy+";", part+";") && !strings.Contains(policy, part+" ") {
				t.Errorf("%s: no %q in %q", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	if resp, body := d.ask(t, strings.Replace(get("/", own), "GET", "HEAD", 1)); resp.StatusCode != http.StatusOK || body != "" {
		t.Errorf("HEAD: %s %q", resp.Status, body)
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for _, good := range []string{"127.0.0.1:0", "localhost:0", "127.9.8.7:0"} {
		ln, err := Listen(good)
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		ln.Close()
	}
	if ln, err := Listen("[::1]:0"); err == nil { // there may be no IPv6 here
		ln.Close()
	} else if errors.Is(err, ErrNotLoopback) {
		t.Error(err)
	}
	for _, bad := range []string{
		"0.0.0.0:0", ":0", "[::]:0", "192.0.2.2:0", "10.0.0.1:0", "example.com:0", "[::ffff:127.0.0.1]:0", "[::ffff:0.0.0.0]:0", "[fe80::1%lo]:0",
		"localhost.evil.test:0", "0:0", "127.1:0", "*:0",
	} {
		ln, err := Listen(bad)
		if err == nil {
			ln.Close()
		}
		if !errors.Is(err, ErrNotLoopback) || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "127.0.0.1:PORT") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, malformed := range []string{"", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:-1", "127.0.0.1:http"} {
		if ln, err := Listen(malformed); err == nil {
			ln.Close()
			t.Errorf("listened on %q", malformed)
		}
	}
	wild, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(wild, Options{App: builtPage}); !errors.Is(err, ErrNotLoopback) {
		t.Errorf("a server on a wildcard listener: %v", err)
	}
	if _, err := wild.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the refused listener is still open: %v", err)
	}
}

func TestMalformedOriginsAreRefusedAtStart(t *testing.T) {
	for _, bad := range []string{"", "term.example", "ftp://term.example", "https://", "https://term.example/", "https://term.example/x", "https://u@term.example", "https://*"} {
		ln, err := Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if bad == "https://*" {
			ln.Close()
			continue // a name like any other: no Host header is ever equal to it by pattern
		}
		if _, err := New(ln, Options{App: builtPage, Origins: []string{bad}}); err == nil {
			t.Errorf("origin %q was taken", bad)
		}
	}
}

func TestStrangersUseUpTheirOwnConnections(t *testing.T) {
	d := openDesk(t)
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			c.Close()
		}
	}()
	for range connectionsMax {
		c, err := net.Dial("tcp", d.authority())
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	beyond, err := net.Dial("tcp", d.authority())
	if err != nil {
		t.Fatal(err)
	}
	defer beyond.Close()
	beyond.SetDeadline(time.Now().Add(testTime))
	if _, err := beyond.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one connection too many: %v", err)
	}
	// Those that say nothing, or half a header and no more, are let go in time.
	io.WriteString(idle[0], "GET / HTTP/1.1\r\nHost:")
	idle[0].SetDeadline(time.Now().Add(2 * headerTime))
	if _, err := io.ReadAll(idle[0]); err != nil {
		t.Errorf("half a header: %v, want the end", err)
	}
	if resp, _ := d.ask(t, get("/", d.authority())); resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s", resp.Status)
	}
	long, _ := net.Dial("tcp", d.authority())
	defer long.Close()
	long.SetDeadline(time.Now().Add(testTime))
	go io.WriteString(long, get("/", d.authority(), "X: "+strings.Repeat("x", 2*headerBytesMax)))
	if resp, err := http.ReadResponse(bufio.NewReader(long), nil); err == nil && resp.StatusCode == http.StatusOK {
		t.Error("a header beyond the bound was taken")
	}
}
