// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"bufio"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
)

// listen answers each connection with serve, and returns the socket.
func listen(t *testing.T, serve func(r *bufio.Reader, c net.Conn)) Socket {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serve(bufio.NewReader(c), c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-ended })
	return Socket{Path: path}
}

func saying(text string) func(*bufio.Reader, net.Conn) {
	return func(r *bufio.Reader, c net.Conn) {
		if _, err := verbs.ReadLine(r, verbs.LineBytesMax); err == nil {
			_, _ = c.Write([]byte(text))
		}
	}
}

func TestCallReadsItsAnswer(t *testing.T) {
	s := listen(t, saying(`{"id":1,"ok":{"url":"u"}}`+"\n"))
	var got verbs.PairNewResult
	if err := s.Call(t.Context(), verbs.PairNew, verbs.Empty{}, &got); err != nil || got.URL != "u" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCallsThatFailHaveTheirExitCode(t *testing.T) {
	var result verbs.Empty
	for name, c := range map[string]struct {
		socket Socket
		code   int
		says   string
	}{
		"refused":         {listen(t, saying(`{"id":1,"error":{"code":"not_found.pane","message":"no p9","data":{}}}`+"\n")), 3, "no p9"},
		"nobody there":    {Socket{Path: filepath.Join(t.TempDir(), "none")}, 6, "spawnd serve"},
		"went away":       {listen(t, saying(`{"id":1`)), 6, "not known"},
		"another version": {listen(t, saying(`{"id":1,"ok":{"new":1}}`+"\n")), 1, "version"},
		"another answer":  {listen(t, saying(`{"id":2,"ok":{}}`+"\n")), 1, "request 2"},
		"no answer":       {listen(t, saying("{}\n")), 1, "request 0"},
		"path too long":   {Socket{Path: "/" + strings.Repeat("x", 200)}, 6, "too long"},
		"somebody else's": {Socket{Path: listen(t, saying("")).Path, CheckPeer: func(*net.UnixConn) error { return errors.New("uid 0") }}, 1, "uid 0"},
	} {
		err := c.socket.Call(t.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: "p9"}, &result)
		if verbs.ExitCode(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, exit code %d, want %q and %d", name, err, verbs.ExitCode(err), c.says, c.code)
		}
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	for verb, says := range map[string]string{verbs.PaneRun: "not known", verbs.PaneList: "changed nothing"} {
		asked := make(chan struct{})
		s := listen(t, func(r *bufio.Reader, _ net.Conn) {
			_, _ = verbs.ReadLine(r, verbs.LineBytesMax)
			close(asked)
			_, _ = r.ReadByte() // until the caller goes
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		err := s.Call(ctx, verb, verbs.Empty{}, &verbs.Empty{})
		told := (*verbs.Error)(nil)
		if !errors.Is(err, context.Canceled) || !errors.As(err, &told) || told.Code != verbs.CodeOutcome || !strings.Contains(told.Message, says) {
			t.Errorf("%s: error %v", verb, err)
		}
	}
}

func TestACallThatNobodyWaitsForIsNotMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := listen(t, func(r *bufio.Reader, _ net.Conn) { _, _ = r.ReadByte() })
	if err := s.Call(ctx, verbs.PaneRun, verbs.Empty{}, &verbs.Empty{}); verbs.ExitCode(err) != verbs.CodeOutcome.Exit() {
		t.Errorf("error %v", err)
	}
}

func TestStreamGoesOnAfterTheAnswer(t *testing.T) {
	heard := make(chan wire.Kind, 8)
	s := listen(t, func(r *bufio.Reader, c net.Conn) {
		replay, _ := wire.AppendReplay(nil, 7, []byte("paint"))
		saying(`{"id":1,"ok":{"viewer":"3"}}`+"\n"+string(replay))(r, c) // in one write: nothing of it is lost
		frames := wire.NewReader(r, wire.ToWorker)
		for {
			k, _, err := frames.Next()
			if err != nil {
				close(heard)
				return
			}
			heard <- k
		}
	})
	st, result, err := s.Stream(t.Context(), verbs.PaneStreamParams{Pane: "p1"})
	if err != nil || result.Viewer != "3" {
		t.Fatal(result, err)
	}
	kind, payload, err := st.Recv()
	if err != nil || kind != wire.KindReplay || !strings.HasSuffix(string(payload), "paint") {
		t.Errorf("%v %q %v", kind, payload, err)
	}
	if err := errors.Join(st.Input(make([]byte, wire.InputMax+1)), st.Resize(80, 24), st.RequestReplay(0)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []wire.Kind{wire.KindInput, wire.KindInput, wire.KindResize, wire.KindReplayReq} {
		if got := <-heard; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if _, open := <-heard; open {
		t.Error("the stream goes on")
	}
}
