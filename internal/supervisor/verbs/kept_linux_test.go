// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/supervisor/descriptors"
)

// leave sets the limit so that the server's end of the next connection, which comes behind its peer's, is the last but n.
func leave(t *testing.T, n uint64) {
	t.Helper()
	var ends [2]*os.File
	for i := range ends {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ends[i] = f
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(ends[1].Fd()) + n, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
}

// awaitConns returns when there are n connections.
func (r *running) awaitConns(n int) {
	r.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	deadline := time.After(10 * time.Second)
	for {
		r.s.mu.Lock()
		have := len(r.s.mu.conns)
		r.s.mu.Unlock()
		if have == n {
			return
		}
		select {
		case <-deadline:
			r.Fatalf("%d connections, want %d", have, n)
		case <-look.C:
		}
	}
}

const (
	list      = `{"id":1,"verb":"pane.list"}`
	toStay    = `{"id":1,"verb":"pane.stream","params":{"pane":"p1"}}`
	toFollow  = `{"id":1,"verb":"events.subscribe"}`
	isOK      = `{"id":1,"ok"`
	isRefused = `{"id":1,"error":{"code":"unavailable.busy",`
)

// Who comes when only the kept descriptors are left may ask, and neither watches nor follows. The one that was silent longest makes
// room for it.
func TestWhoTakesAKeptDescriptorAsksAndDoesNotStay(t *testing.T) {
	r := run(t, nil)
	silent := r.dial()
	silent.ask(list)
	r.awaitSilence()
	leave(t, descriptors.Kept)
	late := r.dial()
	for question, want := range map[string]string{list: isOK, toStay: isRefused, toFollow: isRefused} {
		if got := late.ask(question); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", question, got)
		}
	}
	if _, err := silent.r.ReadByte(); err == nil {
		t.Error("the silent one was answered without a question")
	}
	leave(t, descriptors.Kept+1)
	if got := r.dial().ask(toStay); !strings.HasPrefix(got, isOK) {
		t.Errorf("with one more: %s", got)
	}
}

// The half of them that a request itself needs is taken by nobody, unless somebody silent goes for it.
func TestHalfOfTheKeptDescriptorsIsForRequests(t *testing.T) {
	r := run(t, nil)
	for _, c := range []struct {
		left uint64
		want string
	}{{askersKept + 1, isOK}, {askersKept, `{"id":0,"error":{"code":"unavailable.busy",`}} {
		leave(t, c.left)
		p := r.dial()
		if c.want == isOK {
			p.say(list + "\n")
		}
		if got := p.hear(); !strings.HasPrefix(got, c.want) {
			t.Errorf("with %d left: %s", c.left, got)
		}
		_ = p.u.Close()
		r.awaitConns(0)
	}
	leave(t, 10*askersKept)
	r.dial().ask(list)
	r.awaitSilence()
	leave(t, askersKept)
	if got := r.dial().ask(list); !strings.HasPrefix(got, isOK) {
		t.Errorf("in the place of one that is silent: %s", got)
	}
}
