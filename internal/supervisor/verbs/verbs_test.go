// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		0: nil, 2: Errorf(CodeInvalidParams, ""), 3: Errorf(CodeNoPane, ""), 4: Errorf(CodeReadOnly, ""), 5: Errorf(CodeRequested, ""),
		6: fmt.Errorf("attach: %w", Errorf(CodeNoDaemon, "")), 10: Errorf(CodeUnsupported, ""), 1: Errorf(CodeInternal, ""),
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
	if ExitCode(io.EOF) != 1 {
		t.Error("an unknown error has a code of its own")
	}
}

func TestEveryVerbAnswers(t *testing.T) {
	r := run(t, nil)
	p := r.dial()
	for line, want := range map[string]string{
		`{"id":1,"verb":"pane.list","params":{}}`:                           `{"id":1,"ok":{"panes":[{"id":"p1","session_id":"6e1f8f0e-7b1c-4b5e-9d55-0d7d6c2a8f10","pid":42,"state":"running","title":"vim","name":"","cols":80,"rows":24,"exit_code":null,"signal":"","foreground":"","viewers":1,"session":"s0","window":"w0","layer":"tile","tags":[{"key":"role","value":"agent"}],"used_at":0}]}}`,
		`{"id":2,"verb":"pane.list"}`:                                       `{"id":2,"ok":{"panes":[`,
		`{"id":3,"verb":"pane.new","params":{"cwd":"/","argv":["top"]}}`:    `{"id":3,"ok":{"pane":{"id":"p1",`,
		`{"id":4,"verb":"pane.close","params":{"pane":"p1"}}`:               `{"id":4,"ok":{}}`,
		`{"id":5,"verb":"pane.rename","params":{"pane":"p1","name":"æ"}}`:   `{"id":5,"ok":{"pane":{"id":"p1",`,
		`{"id":20,"verb":"viewer.list","params":{"pane":"p1"}}`:             `{"id":20,"ok":{"viewers":[{"viewer":"5","name":"tty","control":true,"resumed":false,"drops":0,"bytes":9,"waiting":0,"bound":7}],"snapshots":0,"resumes":0,"drops":1,"bytes":0}}`,
		`{"id":21,"verb":"viewer.list","params":{"pane":"p2"}}`:             `{"id":21,"error":{"code":"not_found.pane",`,
		`{"id":22,"verb":"viewer.list","params":{}}`:                        `{"id":22,"error":{"code":"invalid.params",`,
		`{"id":6,"verb":"pair.new"}`:                                        `{"id":6,"ok":{"url":"http://127.0.0.1:1/#pair=x"}}`,
		`{"id":7,"verb":"server.info","params":{}}`:                         `{"id":7,"ok":{"version":"v","host_name":"","source":"","pid":7,"started_at":0,"addresses":[],"panes":0,"pane":""}}`,
		`{"id":8,"verb":"pane.close","params":{"pane":"p2"}}`:               `{"id":8,"error":{"code":"not_found.pane","message":"there is no pane p2","data":{}}}`,
		`{"id":9,"verb":"pane.stream","params":{"pane":"p2"}}`:              `{"id":9,"error":{"code":"not_found.pane",`,
		`{"id":10,"verb":"pane.fly","params":{}}`:                           `{"id":10,"error":{"code":"unsupported.verb",`,
		`{"id":11,"verb":"pane.new","params":{"cols":80}}`:                  `{"id":11,"error":{"code":"invalid.size",`,
		`{"id":12,"verb":"pane.new","params":{"cwd":"relative"}}`:           `{"id":12,"error":{"code":"invalid.params",`,
		`{"id":13,"verb":"pane.new","params":{"argv":[""]}}`:                `{"id":13,"error":{"code":"invalid.params",`,
		`{"id":14,"verb":"pane.new","params":{"argv":["a\u0000"]}}`:         `{"id":14,"error":{"code":"invalid.params",`,
		`{"id":15,"verb":"pane.close","params":{"pane":"../x"}}`:            `{"id":15,"error":{"code":"invalid.params",`,
		`{"id":16,"verb":"pane.close"}`:                                     `{"id":16,"error":{"code":"invalid.params",`,
		`{"id":17,"verb":"pane.close","params":{"pane":"p1","force":true}}`: `{"id":17,"error":{"code":"invalid.params",`,
		`{"id":18,"verb":"pane.close","params":{"Pane":"p1"}}`:              `{"id":18,"error":{"code":"invalid.params",`,
		`{"id":19,"verb":"pane.new","params":{"cols":65536,"rows":1}}`:      `{"id":19,"error":{"code":"invalid.size",`,
	} {
		if got := p.ask(line); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	if len(r.server.started) != 1 || r.server.started[0].Cwd != "/" || !slices.Equal(r.server.started[0].Argv, []string{"top"}) || r.server.named != "æ" {
		t.Errorf("started %+v, named %q", r.server.started, r.server.named)
	}
}

func TestWhatIsNoRequestEndsTheConnection(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for _, line := range []string{
		"", "null", "[]", "{", `{"id":1,"verb":"pane.list","id":2}`, `{"id":1,"VERB":"pane.list"}`, `{"id":1,"verb":"pane.list"} x`,
		`{"id":"1","verb":"pane.list"}`, `{"id":1,"verb":"pane.list","extra":0}`, `{"id":1,"verb":"pane.list","params":` + deep + `}`,
		"{\"id\":1,\"verb\":\"\xff\"}", strings.Repeat("x", LineBytesMax),
	} {
		p := run(t, nil).dial()
		if got := p.ask(line); !strings.HasPrefix(got, `{"id":0,"error":{"code":"invalid.json",`) {
			t.Errorf("%.60q: %s", line, got)
		}
		if _, err := p.r.ReadByte(); err == nil {
			t.Errorf("%.60q: the connection goes on", line)
		}
	}
}

func TestTheLongestLineIsTaken(t *testing.T) {
	p := run(t, nil).dial()
	line := `{"id":1,"verb":"pane.list","params":{}`
	line += strings.Repeat(" ", LineBytesMax-len(line)-2) + "}"
	if got := p.ask(line); !strings.HasPrefix(got, `{"id":1,"ok":`) {
		t.Error(got)
	}
	if got := p.ask(" " + line); !strings.HasPrefix(got, `{"id":0,"error":{"code":"invalid.json",`) {
		t.Error(got)
	}
}

func TestUnknownErrorsStayInTheLog(t *testing.T) {
	r := run(t, nil)
	got := r.dial().ask(`{"id":1,"verb":"pane.new","params":{"name":"broken"}}`)
	if !strings.HasPrefix(got, `{"id":1,"error":{"code":"internal",`) || strings.Contains(got, "secret") {
		t.Error(got)
	}
	if !strings.Contains(r.log.String(), "a secret path") {
		t.Errorf("log: %s", r.log)
	}
}

func TestErrorsOfTheRoomsBelowHaveCodes(t *testing.T) {
	for err, want := range map[error]Code{
		fanout.ErrFull: CodeFull, fanout.ErrEnded: CodeEnded, fanout.ErrSize: CodeInvalidSize, control.ErrReadOnly: CodeReadOnly,
		fmt.Errorf("x: %w", context.DeadlineExceeded): CodeTimeout,
	} {
		if got, public := refusalOf(err); !public || got.Code != want {
			t.Errorf("%v: %v, %t", err, got.Code, public)
		}
	}
}

func TestForeignPeerGetsNothing(t *testing.T) {
	r := run(t, func(s *server) { s.o.CheckPeer = func(*net.UnixConn) error { return errors.New("uid 0") } })
	p := r.dial()
	if n, err := p.u.Read(make([]byte, 1)); err == nil || n != 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// Peers that send half a request and nothing more hold up nobody (T33), and go.
func TestDawdlingPeersHoldUpNobody(t *testing.T) {
	const dawdle = 3 * time.Second
	r := run(t, func(s *server) { s.lineTimeout = dawdle })
	alone, _ := r.median()
	var slow []*peer
	for range 200 {
		p := r.dial()
		p.say(`{"id":1,"ver`)
		slow = append(slow, p)
	}
	beside, longest := r.median()
	if beside > 2*alone+100*time.Millisecond {
		t.Errorf("an answer takes %v, and %v beside dawdling peers", alone, beside)
	}
	if longest >= dawdle { // whoever waited for a peer's line waited for all of its time
		t.Errorf("an answer took %v beside dawdling peers", longest)
	}
	for _, p := range slow {
		if _, err := p.r.ReadByte(); err == nil {
			t.Fatal("a dawdling peer was answered")
		}
	}
}

// median of asking for the list on a new connection, and the longest, which says more of a busy machine.
func (r *running) median() (median, longest time.Duration) {
	var took []time.Duration
	for range 100 {
		begin := time.Now()
		p := r.dial()
		if got := p.ask(`{"id":1,"verb":"pane.list"}`); !strings.HasPrefix(got, `{"id":1,"ok"`) {
			r.Fatal(got)
		}
		took = append(took, time.Since(begin))
		_ = p.u.Close()
	}
	slices.Sort(took)
	return took[50], took[99]
}

// awaitSilence returns when no connection is at work. An answer is read before its connection is silent.
func (r *running) awaitSilence() {
	r.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	deadline := time.After(10 * time.Second)
	for {
		r.s.mu.Lock()
		atWork := slices.ContainsFunc(slices.Collect(maps.Values(r.s.mu.conns)), time.Time.IsZero)
		r.s.mu.Unlock()
		if !atWork {
			return
		}
		select {
		case <-deadline:
			r.Fatal("a connection stays at work")
		case <-look.C:
		}
	}
}

func TestTheLongestSilentConnectionMakesRoom(t *testing.T) {
	r := run(t, nil)
	var silent []*peer
	for range connectionsMax {
		p := r.dial()
		p.ask(`{"id":1,"verb":"pane.list"}`) // it is admitted
		r.awaitSilence()
		silent = append(silent, p)
	}
	silent[0].ask(`{"id":1,"verb":"pane.list"}`) // now the second is the longest silent
	r.awaitSilence()
	if got := r.dial().ask(`{"id":1,"verb":"pane.list"}`); !strings.HasPrefix(got, `{"id":1,"ok"`) {
		t.Fatal(got)
	}
	if _, err := silent[1].r.ReadByte(); err == nil {
		t.Error("the second was answered without a question")
	}
	silent[0].ask(`{"id":1,"verb":"pane.list"}`)
	silent[2].ask(`{"id":1,"verb":"pane.list"}`)
}

func TestConnectionsAtWorkAreNotClosedForOthers(t *testing.T) {
	r := run(t, nil)
	for range connectionsMax {
		r.dial().ask(`{"id":1,"verb":"pane.stream","params":{"pane":"p1"}}`)
		<-r.server.viewers
	}
	if got := r.dial().hear(); !strings.HasPrefix(got, `{"id":0,"error":{"code":"unavailable.busy",`) {
		t.Error(got)
	}
}

func TestServeEndsWithItsConnections(t *testing.T) {
	r := run(t, nil)
	idle := r.dial()
	idle.ask(`{"id":1,"verb":"pane.list"}`)
	streaming := r.dial()
	streaming.ask(`{"id":1,"verb":"pane.stream","params":{"pane":"p1"}}`)
	v := <-r.server.viewers
	r.finish()
	<-v.detached
	for _, p := range []*peer{idle, streaming} {
		if _, err := p.r.ReadByte(); err == nil {
			t.Error("a connection goes on")
		}
	}
	if _, err := net.Dial("unix", r.path); err == nil {
		t.Error("the socket is still there")
	}
}

// What is accepted is one request, and means the same however it is read again.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"id":1,"verb":"pane.list","params":{}}`))
	f.Add([]byte(`{"id":-0,"verb":"","params":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r request
		if len(line) > LineBytesMax || strictjson.Unmarshal(line, &r) != nil {
			return
		}
		again, err := strictjson.Marshal(r)
		if err != nil {
			t.Fatalf("%q was accepted and cannot be written: %v", line, err)
		}
		var back request
		if err := strictjson.Unmarshal(again, &back); err != nil || back.ID != r.ID || back.Verb != r.Verb {
			t.Fatalf("%q became %q: %v", line, again, err)
		}
	})
}
