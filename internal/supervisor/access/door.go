// SPDX-License-Identifier: Apache-2.0

// Package access decides who may reach this host, and what they may do. A Door lets browsers in: it holds
// the host's key, the paired devices, the one-time pairing codes, and the texts that both sides sign. An
// Authority knows the rights of everybody who is in.
package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

var (
	// ErrProtocol means that a message was not of the form that the protocol names. Nothing was tried.
	ErrProtocol = errors.New("malformed message")
	// ErrPairing means that no living pairing code made this request: wrong, used, expired, or altered
	// on its way. The caller may not learn which.
	ErrPairing = errors.New("the pairing link is not valid")
	// ErrUnknownDevice means that no device of that id is paired; the browser has to pair.
	ErrUnknownDevice = errors.New("this browser is not paired with this host")
	// ErrSignature means that the signature is not the device's over what was received.
	ErrSignature = errors.New("the signature does not match")
	// ErrStale means that the challenge was used already or has expired. A new connection gets a new one.
	ErrStale = errors.New("the challenge was used or has expired")
	// ErrBusy means that a bound was reached: too many wrong tries, or too many devices.
	ErrBusy = errors.New("busy")
)

// Options are what a Door takes from outside. The zero value is the one for production.
type Options struct {
	Now  func() time.Time // nil: time.Now
	Rand io.Reader        // nil: crypto/rand
	Log  *slog.Logger     // nil: discard
	// Paired is told of each pairing, before the browser is. It may ask the Door. nil: nobody is told.
	Paired func(Device)
}

// A Door checks who comes in. It is safe for concurrent use.
type Door struct {
	host *hostKey
	now  func() time.Time
	rand io.Reader
	log  *slog.Logger
	told func(Device) // of each pairing

	// mu also covers the file of devices: pairing is rare, and a code must not serve twice while the
	// device of its first use is being written.
	mu struct {
		sync.Mutex
		devices *devices
		codes   codes
	}
}

// Open reads the host key and the paired devices from the folder, which must exist and belong to us
// alone. A host key is made when there is none. What is damaged or unsafe is refused with an error
// that names the path; it is never repaired, since a new key would un-pair every browser in silence.
func Open(folder string, o Options) (*Door, error) {
	d := &Door{now: o.Now, rand: o.Rand, log: o.Log, told: o.Paired}
	if d.now == nil {
		d.now = time.Now
	}
	if d.rand == nil {
		d.rand = rand.Reader
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	dir, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	if d.host, err = openHostKey(dir, d.rand); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	if d.mu.devices, err = openDevices(dir); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return d, nil
}

// Close lets go of the folder. The Door is not to be used afterwards.
func (d *Door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.devices.folder.Close()
}

// HostKey returns the host's public key as it travels. A browser pins it when it pairs.
func (d *Door) HostKey() string { return encode(d.host.public()) }

// A Challenge is the host's half of one handshake: a nonce that serves for one pairing and one offer,
// on the connection for which it was made and no other.
type Challenge struct {
	nonce   string
	expires time.Time
	paired  bool // guarded by Door.mu
	offered bool // guarded by Door.mu
}

// Nonce returns the nonce as it travels.
func (c *Challenge) Nonce() string { return c.nonce }

// Challenge makes a new challenge, which lives for ChallengeLife.
func (d *Door) Challenge() (*Challenge, error) {
	nonce := make([]byte, nonceBytes)
	if _, err := io.ReadFull(d.rand, nonce); err != nil {
		return nil, fmt.Errorf("make a challenge: %w", err)
	}
	return &Challenge{nonce: encode(nonce), expires: d.now().Add(ChallengeLife)}, nil
}

// NewCode makes a pairing code that serves once, within CodeLife. When codesMax are alive the oldest
// gives way, so that the link shown last is always good.
func (d *Door) NewCode() (Code, error) {
	var c Code
	if _, err := io.ReadFull(d.rand, c[:]); err != nil {
		return Code{}, fmt.Errorf("make a pairing code: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.codes.add(c, d.now())
	return c, nil
}

// PairRequest is what a browser sends to be paired; all fields as they travel.
type PairRequest struct {
	DeviceKey string // P-256 point, uncompressed
	Name      string
	CodeID    string // the first eight bytes of the code's SHA-256
	MAC       string // over pairDeviceText, keyed with the code
}

// Pairing is the host's answer. MAC proves that the host knows the code too, so that a page which
// checks it may pin the host key.
type Pairing struct {
	Device Device
	MAC    string
}

// Pair admits a new device, if its request was made with a living code. The code is used up by
// success, and by triesMax failures.
func (d *Door) Pair(c *Challenge, r PairRequest) (Pairing, error) {
	p, err := d.pair(c, r)
	if err == nil && d.told != nil {
		d.told(p.Device)
	}
	return p, err
}

func (d *Door) pair(c *Challenge, r PairRequest) (Pairing, error) {
	key, err := parseDeviceKey(r.DeviceKey)
	if err != nil {
		return Pairing{}, err
	}
	if err := checkSentName(r.Name); err != nil {
		return Pairing{}, err
	}
	mac, err := decode(r.MAC, macBytes)
	if err != nil {
		return Pairing{}, err
	}
	id, err := decode(r.CodeID, codeIDBytes)
	if err != nil {
		return Pairing{}, err
	}
	host := d.HostKey()

	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if c.paired || c.offered || now.After(c.expires) {
		return Pairing{}, ErrStale
	}
	code, err := d.mu.codes.check(codeID(id), mac, pairDeviceText(c.nonce, host, r.DeviceKey, r.Name), now)
	if err != nil {
		return Pairing{}, err
	}
	device, err := d.mu.devices.admit(key, cleanName(r.Name), now, d.rand)
	if err != nil {
		return Pairing{}, err
	}
	d.mu.codes.use(code)
	c.paired = true
	answer := keyed(code, pairHostText(c.nonce, host, r.DeviceKey, device.ID))
	return Pairing{Device: device, MAC: encode(answer)}, nil
}

// An Entrant is who has signed an offer that was checked.
type Entrant struct {
	Who  Principal
	Name string // under which others see them; as cleanText leaves it
	Link Grant  // by which a visitor came; zero for a device
}

// Offer is a device's signed wish to connect; all fields as they travel.
type Offer struct {
	Device      string
	ClientNonce string
	SDP         string
	Signature   string // over offerText, by the device's key
}

// CheckOffer returns the device that signed the offer under this challenge. A challenge serves for one
// good offer; a bad one leaves it, so that nobody can use it up from outside the connection.
func (d *Door) CheckOffer(c *Challenge, o Offer) (Device, error) {
	if _, err := decode(o.ClientNonce, nonceBytes); err != nil {
		return Device{}, err
	}
	sig, err := decode(o.Signature, deviceSignatureBytes)
	if err != nil {
		return Device{}, err
	}
	if !validDeviceID(o.Device) {
		return Device{}, ErrProtocol
	}
	text := offerText(d.HostKey(), c.nonce, o.ClientNonce, o.Device, o.SDP)

	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if c.offered || now.After(c.expires) {
		return Device{}, ErrStale
	}
	device, key, ok := d.mu.devices.find(o.Device)
	if !ok {
		return Device{}, ErrUnknownDevice
	}
	if !verify(key, text, sig) {
		return Device{}, ErrSignature
	}
	c.offered = true
	if err := d.mu.devices.seen(device.ID, now); err != nil {
		d.log.Warn("the time at which a device was last seen is not saved", "device", device.ID, "error", err)
	}
	return device, nil
}

// SignAnswer signs the host's answer to a checked offer, so that the page knows it for its pinned host's.
func (d *Door) SignAnswer(c *Challenge, o Offer, answerSDP string) string {
	text := answerText(d.HostKey(), c.nonce, o.ClientNonce, o.Device, o.SDP, answerSDP)
	return encode(d.host.sign(text))
}

// Devices lists the paired browsers in the order of their pairing.
func (d *Door) Devices() []Device {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.mu.devices.list)
}

// Paired reports whether the browser is paired. It waits for nobody: mu.devices is set by Open alone, and
// what is asked of it here is swapped as a whole.
func (d *Door) Paired(id string) bool { return (*d.mu.devices.paired.Load())[id] }

// Unpair forgets a browser, in the file first. What it has open is the caller's to close: Authority.Unpair
// sees to that. ErrUnknownDevice when it is not paired; after any other error it still is, and what the
// file says is open until the next change.
func (d *Door) Unpair(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.devices.remove(id)
}
