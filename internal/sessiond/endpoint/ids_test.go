// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"strings"
	"testing"
)

func TestSessionIDsAreLowerCaseUUIDsAndNothingElse(t *testing.T) {
	const good = "01234567-89ab-4cde-8fab-0123456789ab"
	if id, err := ParseSessionID(good); err != nil || id.String() != good {
		t.Errorf("got %q, %v", id, err)
	}
	for _, s := range []string{"", good[1:], good + "0", strings.ToUpper(good), "{" + good[1:],
		strings.ReplaceAll(good, "-", "0"), "0123456-789ab-4cde-8fab-0123456789ab", "../../../../../../../../../../tmp/xyz",
		"01234567-89ab-4cde-8fab-0123456789a\x00", "01234567-89ab-4cde-8fab-0123456789a/"} {
		if id, err := ParseSessionID(s); err == nil {
			t.Errorf("accepted %q as %q", s, id)
		}
	}
	seen := map[SessionID]bool{}
	for range 1000 {
		id := NewSessionID()
		if _, err := ParseSessionID(string(id)); err != nil || seen[id] || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) {
			t.Fatalf("new id %q: %v", id, err)
		}
		seen[id] = true
	}
}

func TestInstanceIDsRoundTrip(t *testing.T) {
	id := NewInstanceID()
	if got, err := ParseInstanceID(id.String()); err != nil || got != id {
		t.Errorf("got %v, %v, want %v", got, err, id)
	}
	if id == NewInstanceID() {
		t.Error("two instances have one id")
	}
	for _, s := range []string{"", id.String()[1:], id.String() + "0", strings.Repeat("A", 32), strings.Repeat("g", 32)} {
		if _, err := ParseInstanceID(s); err == nil {
			t.Errorf("accepted %q", s)
		}
	}
}

func TestWorkerDirFollowsItsOrder(t *testing.T) {
	for _, c := range []struct {
		name     string
		environ  map[string]string
		config   string
		want     string
		wantFail bool
	}{
		{"own variable", map[string]string{"SPAWND_WORKER_DIR": "/w/", "XDG_RUNTIME_DIR": "/run/user/1"}, "/c", "/w", false},
		{"own variable relative", map[string]string{"SPAWND_WORKER_DIR": "w", "XDG_RUNTIME_DIR": "/run/user/1"}, "/c", "", true},
		{"runtime folder", map[string]string{"XDG_RUNTIME_DIR": "/run/user/1"}, "/c", "/run/user/1/spawn/workers", false},
		{"runtime folder relative", map[string]string{"XDG_RUNTIME_DIR": "run"}, "/c", "/c/workers", false},
		{"config folder", nil, "/c", "/c/workers", false},
		{"config folder relative", nil, "c", "", true},
	} {
		got, err := WorkerDir(func(name string) string { return c.environ[name] }, c.config)
		if got != c.want || (err != nil) != c.wantFail {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestRequestsAreParsedByLengthThenSignalThenInstance(t *testing.T) {
	own, other := NewInstanceID(), NewInstanceID()
	for n := range RequestBufLen + 1 {
		request := append(appendRequest(nil, own, SignalKILL), 0)[:n]
		_, refusal := parseRequest(request, own)
		if want := map[bool]Ack{true: 0, false: AckMalformed}[n == RequestLen]; refusal != want {
			t.Errorf("%d bytes: got %v, want %v", n, refusal, want)
		}
	}
	for code := range 256 {
		s, refusal := parseRequest(appendRequest(nil, own, Signal(code)), own)
		if legal := code == 1 || code == 2; legal != (refusal == 0) || legal && s != Signal(code) {
			t.Errorf("signal %d: got %v, %v", code, s, refusal)
		}
		if _, refusal := parseRequest(appendRequest(nil, other, Signal(code)), own); refusal == 0 {
			t.Errorf("signal %d for another instance was taken", code)
		}
		if a, err := parseAck([]byte{byte(code)}); (err == nil) != (code >= 1 && code <= 4) || err == nil && a != Ack(code) {
			t.Errorf("ack %d: got %v, %v", code, a, err)
		}
	}
	for bit := range 8 * len(own) {
		flipped := own
		flipped[bit/8] ^= 1 << (bit % 8)
		if _, refusal := parseRequest(appendRequest(nil, flipped, SignalTERM), own); refusal != AckStale {
			t.Errorf("bit %d flipped: got %v", bit, refusal)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	own := InstanceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	f.Add(appendRequest(nil, own, SignalTERM))
	f.Add(appendRequest(nil, InstanceID{}, SignalKILL))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, p []byte) {
		legal := Signal(0)
		for _, s := range []Signal{SignalTERM, SignalKILL} {
			if string(appendRequest(nil, own, s)) == string(p) {
				legal = s
			}
		}
		if s, refusal := parseRequest(p, own); s != legal && refusal == 0 || (legal != 0) != (refusal == 0) {
			t.Fatalf("% x: got %v, %v", p, s, refusal)
		}
	})
}
