// SPDX-License-Identifier: Apache-2.0

//go:build unix

package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

func openDoor(t *testing.T, folder string, c *clock) *Door {
	t.Helper()
	d, err := Open(folder, Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func challenge(t *testing.T, d *Door) *Challenge {
	t.Helper()
	c, err := d.Challenge()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newCode(t *testing.T, d *Door) Code {
	t.Helper()
	c, err := d.NewCode()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// browser does what a page does, in words of its own: nothing here is shared with the code under test.
type browser struct {
	key     *ecdsa.PrivateKey
	hostKey string
	device  string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{key: key}
}

var url = base64.RawURLEncoding

func (b *browser) deviceKey() string {
	raw, err := b.key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return url.EncodeToString(raw)
}

func mac(code []byte, parts ...string) string {
	h := hmac.New(sha256.New, code)
	io.WriteString(h, strings.Join(parts, "\n"))
	return url.EncodeToString(h.Sum(nil))
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return url.EncodeToString(sum[:])
}

func (b *browser) pairRequest(code Code, nonce, hostKey, name string) PairRequest {
	id := sha256.Sum256(code[:])
	return PairRequest{
		DeviceKey: b.deviceKey(), Name: name, CodeID: url.EncodeToString(id[:8]),
		MAC: mac(code[:], "spawn.pair.device.v1", nonce, hostKey, b.deviceKey(), name),
	}
}

// pair pairs and checks what the host proves.
func (b *browser) pair(t *testing.T, d *Door, name string) Device {
	t.Helper()
	code, c := newCode(t, d), challenge(t, d)
	p, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), name))
	if err != nil {
		t.Fatal(err)
	}
	if want := mac(code[:], "spawn.pair.host.v1", c.Nonce(), d.HostKey(), b.deviceKey(), p.Device.ID); p.MAC != want {
		t.Fatal("the host's proof is not over what the protocol says")
	}
	b.hostKey, b.device = d.HostKey(), p.Device.ID
	return p.Device
}

func (b *browser) sign(t *testing.T, text string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, b.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return url.EncodeToString(sig)
}

var clientNonce = url.EncodeToString(make([]byte, 32))

func (b *browser) offer(t *testing.T, nonce, sdp string) Offer {
	t.Helper()
	text := strings.Join([]string{"spawn.offer.v1", b.hostKey, nonce, clientNonce, b.device, sha(sdp)}, "\n")
	return Offer{Device: b.device, ClientNonce: clientNonce, SDP: sdp, Signature: b.sign(t, text)}
}

func TestAPairedBrowserIsKnownAndTheAnswerIsTheHosts(t *testing.T) {
	clock, folder := newClock(), t.TempDir()
	d, b := openDoor(t, folder, clock), newBrowser(t)
	if device := b.pair(t, d, "Chromium on Linux"); device.Name != "Chromium on Linux" || len(device.ID) != 18 {
		t.Fatalf("paired as %+v", device)
	}
	d.Close()
	d = openDoor(t, folder, clock) // the next spawnd
	if d.HostKey() != b.hostKey {
		t.Fatal("the host key has changed")
	}
	c := challenge(t, d)
	offer := b.offer(t, c.Nonce(), "v=0 offer")
	device, err := d.CheckOffer(c, offer)
	if err != nil || device.ID != b.device {
		t.Fatalf("CheckOffer = %+v, %v", device, err)
	}
	sig, err := url.DecodeString(d.SignAnswer(c, offer, "v=0 answer"))
	if err != nil {
		t.Fatal(err)
	}
	host, _ := url.DecodeString(b.hostKey)
	text := strings.Join([]string{"spawn.answer.v1", b.hostKey, c.Nonce(), clientNonce, b.device, sha("v=0 offer"), sha("v=0 answer")}, "\n")
	if !ed25519.Verify(host, []byte(text), sig) {
		t.Fatal("the answer is not signed over what the protocol says")
	}
}

func TestAnOfferServesOnceOnItsOwnConnection(t *testing.T) {
	clock := newClock()
	d, b := openDoor(t, t.TempDir(), clock), newBrowser(t)
	b.pair(t, d, "one")
	c := challenge(t, d)
	offer := b.offer(t, c.Nonce(), "sdp")

	if _, err := d.CheckOffer(challenge(t, d), offer); !errors.Is(err, ErrSignature) {
		t.Errorf("on another connection: %v", err)
	}
	late := challenge(t, d)
	lateOffer := b.offer(t, late.Nonce(), "sdp")
	clock.Advance(ChallengeLife + 1)
	if _, err := d.CheckOffer(late, lateOffer); !errors.Is(err, ErrStale) {
		t.Errorf("late: %v", err)
	}
	c = challenge(t, d)
	offer = b.offer(t, c.Nonce(), "sdp")
	if passed := inParallel(16, func() error { _, err := d.CheckOffer(c, offer); return err }); passed != 1 {
		t.Errorf("%d of 16 at once passed, want 1", passed)
	}
}

// inParallel counts how many calls succeed.
func inParallel(n int, f func() error) int {
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make(chan error, n)
	for range n {
		wg.Go(func() { <-start; errs <- f() })
	}
	close(start)
	wg.Wait()
	passed := 0
	for range n {
		if <-errs == nil {
			passed++
		}
	}
	return passed
}

func TestEveryAlteredByteOfAnOfferIsRefused(t *testing.T) {
	d, b, other := openDoor(t, t.TempDir(), newClock()), newBrowser(t), newBrowser(t)
	b.pair(t, d, "one")
	other.pair(t, d, "two")
	c := challenge(t, d)
	good := b.offer(t, c.Nonce(), "v=0\r\na=fingerprint:sha-256 AA")
	fields := map[string]func(*Offer) *string{
		"device": func(o *Offer) *string { return &o.Device }, "client nonce": func(o *Offer) *string { return &o.ClientNonce },
		"sdp": func(o *Offer) *string { return &o.SDP }, "signature": func(o *Offer) *string { return &o.Signature },
	}
	for name, field := range fields {
		eachAlteration(*field(&good), func(changed string) {
			o := good
			*field(&o) = changed
			if _, err := d.CheckOffer(c, o); err == nil {
				t.Errorf("an offer with altered %s passed: %q", name, changed)
			}
		})
	}
	stolen := good
	stolen.Device = other.device
	if _, err := d.CheckOffer(c, stolen); !errors.Is(err, ErrSignature) {
		t.Errorf("under another device's name: %v", err)
	}
	foreign := openDoor(t, t.TempDir(), newClock())
	b.hostKey = foreign.HostKey()
	if _, err := d.CheckOffer(c, b.offer(t, c.Nonce(), "sdp")); !errors.Is(err, ErrSignature) {
		t.Errorf("signed for another host: %v", err)
	}
	if _, err := foreign.CheckOffer(challenge(t, foreign), good); !errors.Is(err, ErrUnknownDevice) {
		t.Errorf("unknown device: %v", err)
	}
	if _, err := d.CheckOffer(c, good); err != nil {
		t.Errorf("the good one, after all that: %v", err)
	}
}

// eachAlteration flips bits of each byte, cuts and extends.
func eachAlteration(s string, f func(string)) {
	for i := range len(s) {
		for _, bit := range []byte{0x01, 0x02, 0x20, 0x80} {
			b := []byte(s)
			b[i] ^= bit
			f(string(b))
		}
		f(s[:i])
	}
	f(s + "A")
	f(s + "\n")
	f(s + "=")
}

func TestSignaturesOfOtherFormsAreRefused(t *testing.T) {
	d, b := openDoor(t, t.TempDir(), newClock()), newBrowser(t)
	b.pair(t, d, "one")
	c := challenge(t, d)
	good := b.offer(t, c.Nonce(), "sdp")
	raw, _ := url.DecodeString(good.Signature)
	order := elliptic.P256().Params().N.FillBytes(make([]byte, 32))
	sum := sha256.Sum256([]byte("x"))
	der, _ := ecdsa.SignASN1(rand.Reader, b.key, sum[:])
	for name, sig := range map[string]string{
		"none": "", "zeroes": url.EncodeToString(make([]byte, 64)), "DER": url.EncodeToString(der),
		"r = 0": url.EncodeToString(append(make([]byte, 32), raw[32:]...)), "s = 0": url.EncodeToString(append(raw[:32:32], make([]byte, 32)...)),
		"r = n": url.EncodeToString(append(order[:32:32], raw[32:]...)), "s = n": url.EncodeToString(append(raw[:32:32], order...)),
		"standard alphabet": base64.RawStdEncoding.EncodeToString(append(make([]byte, 63), 0xfb)), "padded": good.Signature + "==",
	} {
		o := good
		o.Signature = sig
		if _, err := d.CheckOffer(c, o); err == nil {
			t.Errorf("signature with %s passed", name)
		}
	}
}

func TestAPairingCodeServesOnce(t *testing.T) {
	clock := newClock()
	d := openDoor(t, t.TempDir(), clock)
	code := newCode(t, d)
	passed := inParallel(16, func() error {
		b, c := newBrowser(t), challenge(t, d)
		_, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x"))
		return err
	})
	if passed != 1 {
		t.Errorf("%d of 16 at once paired, want 1", passed)
	}

	expired := newCode(t, d)
	clock.Advance(CodeLife)
	b, c := newBrowser(t), challenge(t, d)
	if _, err := d.Pair(c, b.pairRequest(expired, c.Nonce(), d.HostKey(), "x")); !errors.Is(err, ErrPairing) {
		t.Errorf("expired code: %v", err)
	}
}

func TestOneChallengePairsOnce(t *testing.T) {
	d := openDoor(t, t.TempDir(), newClock())
	c, b := challenge(t, d), newBrowser(t)
	if _, err := d.Pair(c, b.pairRequest(newCode(t, d), c.Nonce(), d.HostKey(), "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Pair(c, newBrowser(t).pairRequest(newCode(t, d), c.Nonce(), d.HostKey(), "x")); !errors.Is(err, ErrStale) {
		t.Errorf("second pairing on one challenge: %v", err)
	}
}

func TestEveryAlteredByteOfAPairingIsRefused(t *testing.T) {
	d, b := openDoor(t, t.TempDir(), newClock()), newBrowser(t)
	fields := map[string]func(*PairRequest) *string{
		"device key": func(r *PairRequest) *string { return &r.DeviceKey }, "name": func(r *PairRequest) *string { return &r.Name },
		"code id": func(r *PairRequest) *string { return &r.CodeID }, "mac": func(r *PairRequest) *string { return &r.MAC },
	}
	for name, field := range fields {
		c := challenge(t, d)
		code := newCode(t, d)
		good := b.pairRequest(code, c.Nonce(), d.HostKey(), "Chromium")
		eachAlteration(*field(&good), func(changed string) {
			r := good
			*field(&r) = changed
			if _, err := d.Pair(c, r); err == nil {
				t.Errorf("a pairing with altered %s passed: %q", name, changed)
			}
			code = newCode(t, d) // wrong tries use codes up
			good = b.pairRequest(code, c.Nonce(), d.HostKey(), "Chromium")
		})
	}
	c := challenge(t, d)
	for name, r := range map[string]PairRequest{
		"another host":       b.pairRequest(newCode(t, d), c.Nonce(), openDoor(t, t.TempDir(), newClock()).HostKey(), "x"),
		"another connection": b.pairRequest(newCode(t, d), challenge(t, d).Nonce(), d.HostKey(), "x"),
	} {
		if _, err := d.Pair(c, r); !errors.Is(err, ErrPairing) {
			t.Errorf("pairing for %s: %v", name, err)
		}
	}
	if len(d.mu.devices.list) != 0 {
		t.Errorf("%d devices were paired by refused requests", len(d.mu.devices.list))
	}
}

func TestKeysThatAreNoPointsAreRefused(t *testing.T) {
	d, b := openDoor(t, t.TempDir(), newClock()), newBrowser(t)
	c := challenge(t, d)
	off := make([]byte, 65)
	off[0], off[64] = 4, 1
	compressed := elliptic.MarshalCompressed(elliptic.P256(), b.key.X, b.key.Y)
	for name, key := range map[string]string{
		"infinity": url.EncodeToString([]byte{0}), "off the curve": url.EncodeToString(off), "zeroes": url.EncodeToString(make([]byte, 65)),
		"compressed": url.EncodeToString(compressed), "empty": "",
	} {
		r := b.pairRequest(newCode(t, d), c.Nonce(), d.HostKey(), "x")
		r.DeviceKey = key
		if _, err := d.Pair(c, r); !errors.Is(err, ErrProtocol) {
			t.Errorf("device key %s: %v", name, err)
		}
	}
}

func TestThreeWrongTriesEndACode(t *testing.T) {
	d, b := openDoor(t, t.TempDir(), newClock()), newBrowser(t)
	code := newCode(t, d)
	for range triesMax - 1 {
		wrongTry(t, d, b, code)
	}
	c := challenge(t, d)
	if _, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x")); err != nil {
		t.Fatalf("right after %d wrong tries: %v", triesMax-1, err)
	}
	code = newCode(t, d)
	for range triesMax {
		wrongTry(t, d, b, code)
	}
	c = challenge(t, d)
	if _, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x")); !errors.Is(err, ErrPairing) {
		t.Errorf("right after %d wrong tries: %v", triesMax, err)
	}
}

func wrongTry(t *testing.T, d *Door, b *browser, code Code) {
	t.Helper()
	c := challenge(t, d)
	r := b.pairRequest(code, c.Nonce(), d.HostKey(), "x")
	r.Name = "y"
	if _, err := d.Pair(c, r); !errors.Is(err, ErrPairing) {
		t.Fatalf("wrong try: %v", err)
	}
}

func TestGuessingCodesIsSlowedAndKeepsNobodyOut(t *testing.T) {
	clock := newClock()
	d, b := openDoor(t, t.TempDir(), clock), newBrowser(t)
	good := newCode(t, d)
	guess := func() error {
		var code Code
		rand.Read(code[:])
		c := challenge(t, d)
		_, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x"))
		return err
	}
	for i := range wrongTriesMax {
		if err := guess(); !errors.Is(err, ErrPairing) {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	if err := guess(); !errors.Is(err, ErrBusy) {
		t.Errorf("one guess too many: %v", err)
	}
	c := challenge(t, d)
	if _, err := d.Pair(c, b.pairRequest(good, c.Nonce(), d.HostKey(), "x")); err != nil {
		t.Errorf("the owner, meanwhile: %v", err)
	}
	clock.Advance(wrongTriesWindow)
	if err := guess(); !errors.Is(err, ErrPairing) {
		t.Errorf("in the next window: %v", err)
	}
}

func TestTheNinthCodeEndsTheFirst(t *testing.T) {
	d, b := openDoor(t, t.TempDir(), newClock()), newBrowser(t)
	var all []Code
	for range codesMax + 1 {
		all = append(all, newCode(t, d))
	}
	for i, code := range all {
		c := challenge(t, d)
		_, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x"))
		if (err == nil) != (i > 0) {
			t.Errorf("code %d of %d: %v", i, len(all), err)
		}
	}
}

func TestABrowserThatPairsAgainKeepsItsID(t *testing.T) {
	d, b := openDoor(t, t.TempDir(), newClock()), newBrowser(t)
	first := b.pair(t, d, "one")
	second := b.pair(t, d, "two")
	if first.ID != second.ID || second.Name != "two" || len(d.mu.devices.list) != 1 {
		t.Errorf("first %+v, second %+v", first, second)
	}
}

func TestNoMoreThanTheMostDevicesPair(t *testing.T) {
	d := openDoor(t, t.TempDir(), newClock())
	for len(d.mu.devices.list) < devicesMax {
		newBrowser(t).pair(t, d, "x")
	}
	code, c, b := newCode(t, d), challenge(t, d), newBrowser(t)
	if _, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x")); !errors.Is(err, ErrBusy) {
		t.Errorf("one more: %v", err)
	}
}

func TestNamesAreMadeFitToBeShown(t *testing.T) {
	for in, want := range map[string]string{
		"Chromium on Linux": "Chromium on Linux", "": unnamed, " \t ": unnamed, "\x1b[31mred\x1b[0m": "[31mred[0m",
		"a\u202eb\u200bc\u2066d": "abcd", "two\r\nlines": "two lines", "  many   spaces ": "many spaces",
		strings.Repeat("é", 100): strings.Repeat("é", nameRunesMax), strings.Repeat("a ", 100): strings.TrimSpace(strings.Repeat("a ", nameRunesMax/2)),
		"日本 🦀": "日本 🦀", "\xff": unnamed, "<b>&": "<b>&",
	} {
		got := cleanName(in)
		if got != want {
			t.Errorf("cleanName(%q) = %q, want %q", in, got, want)
		}
		if again := cleanName(got); again != got {
			t.Errorf("cleaning %q twice gives %q", got, again)
		}
	}
	if checkSentName(strings.Repeat("a", nameSentBytesMax)) != nil || checkSentName(strings.Repeat("a", nameSentBytesMax+1)) == nil || checkSentName("\xff") == nil {
		t.Error("the bound of a sent name is not where it should be")
	}
}

func TestLastSeenIsCoarse(t *testing.T) {
	clock, folder := newClock(), t.TempDir()
	d, b := openDoor(t, folder, clock), newBrowser(t)
	b.pair(t, d, "one")
	visit := func() Device {
		c := challenge(t, d)
		if _, err := d.CheckOffer(c, b.offer(t, c.Nonce(), "sdp")); err != nil {
			t.Fatal(err)
		}
		device, _, _ := d.mu.devices.find(b.device)
		return device
	}
	start := visit().LastSeen
	clock.Advance(lastSeenStep / 2)
	if got := visit().LastSeen; got != start {
		t.Errorf("after half a step: %d, want %d", got, start)
	}
	clock.Advance(lastSeenStep)
	if got := visit().LastSeen; got != start+int64(lastSeenStep.Seconds()) {
		t.Errorf("after a step: %d", got)
	}
	again := openDoor(t, folder, clock)
	if device, _, _ := again.mu.devices.find(b.device); device.LastSeen != start+int64(lastSeenStep.Seconds()) {
		t.Errorf("on disk: %d", device.LastSeen)
	}
}

func TestNothingSecretIsPrinted(t *testing.T) {
	d := openDoor(t, t.TempDir(), newClock())
	code, c := newCode(t, d), challenge(t, d)
	bad := newBrowser(t).pairRequest(code, "other nonce", d.HostKey(), "x")
	_, err := d.Pair(c, bad)
	if err == nil || strings.Contains(err.Error(), code.String()) || strings.Contains(err.Error(), bad.MAC) {
		t.Errorf("error of a wrong pairing: %v", err)
	}
}
