// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"spawn/internal/strictjson"
)

const (
	devicesFile   = "devices.json"
	devicesFormat = "spawn.devices.v1"
	devicePrefix  = "d_"
	unixSecondMax = 253402300799 // the end of the year 9999
)

// A Device is one paired browser.
type Device struct {
	ID        string `json:"id"`         // d_ and 16 hex digits
	PublicKey string `json:"public_key"` // uncompressed P-256 point, base64url
	Name      string `json:"name"`       // as cleanName leaves it
	CreatedAt int64  `json:"created_at"` // Unix seconds
	LastSeen  int64  `json:"last_seen"`  // Unix seconds, in steps of lastSeenStep
}

type devicesText struct {
	Format  string   `json:"format"`
	Devices []Device `json:"devices"`
}

// devices are the paired browsers and the file that keeps them. What memory holds is always what the
// file held when it was last written with success.
type devices struct {
	folder *folder
	list   []Device
	keys   map[string]*ecdsa.PublicKey // by device id, parsed once

	// paired are the ids of list, for who must not wait until a file is written.
	paired atomic.Pointer[map[string]bool]
}

// hold makes the list what memory holds.
func (d *devices) hold(list []Device) {
	ids := make(map[string]bool, len(list))
	for _, device := range list {
		ids[device.ID] = true
	}
	d.list = list
	d.paired.Store(&ids)
}

func openDevices(f *folder) (*devices, error) {
	d := &devices{folder: f, keys: map[string]*ecdsa.PublicKey{}}
	d.hold(nil)
	raw, err := f.read(devicesFile, devicesFileMax)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	list, err := parseDevices(raw)
	if err != nil {
		return nil, fmt.Errorf("read devices %s: %w; move the file away to start with no paired browser", f.path(devicesFile), err)
	}
	d.hold(list)
	for _, device := range d.list {
		key, err := parseDeviceKey(device.PublicKey)
		if err != nil {
			return nil, fmt.Errorf("read devices %s: %w", f.path(devicesFile), err)
		}
		d.keys[device.ID] = key
	}
	return d, nil
}

// parseDevices accepts exactly what save writes.
func parseDevices(raw []byte) ([]Device, error) {
	var text devicesText
	if err := strictjson.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("the file is damaged: %w", err)
	}
	if text.Format != devicesFormat {
		return nil, fmt.Errorf("the file has format %q, not %q", text.Format, devicesFormat)
	}
	if len(text.Devices) > devicesMax {
		return nil, fmt.Errorf("the file names %d devices, more than %d", len(text.Devices), devicesMax)
	}
	seen := map[string]bool{}
	for i, device := range text.Devices {
		if err := device.check(); err != nil || seen[device.ID] || seen[device.PublicKey] {
			return nil, fmt.Errorf("device %d of the file is damaged or there twice", i)
		}
		seen[device.ID], seen[device.PublicKey] = true, true
	}
	return text.Devices, nil
}

func (d Device) check() error {
	if !validDeviceID(d.ID) || d.Name != cleanName(d.Name) || !validSecond(d.CreatedAt) || !validSecond(d.LastSeen) {
		return ErrProtocol
	}
	_, err := parseDeviceKey(d.PublicKey)
	return err
}

func validSecond(s int64) bool { return s >= 0 && s <= unixSecondMax }

func validDeviceID(s string) bool {
	digits, ok := strings.CutPrefix(s, devicePrefix)
	if !ok || len(digits) != 2*deviceIDBytes || digits != strings.ToLower(digits) {
		return false
	}
	_, err := hex.DecodeString(digits)
	return err == nil
}

// admit adds a device and saves. A key that is paired already keeps its id: its browser did not get
// the first answer, or lost it.
func (d *devices) admit(key *ecdsa.PublicKey, name string, now time.Time, random io.Reader) (Device, error) {
	point, err := key.Bytes()
	if err != nil {
		return Device{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	public := encode(point)
	next := slices.Clone(d.list)
	i := slices.IndexFunc(next, func(have Device) bool { return have.PublicKey == public })
	if i < 0 {
		if len(next) == devicesMax {
			return Device{}, fmt.Errorf("%w: %d browsers are paired, which is the limit", ErrBusy, devicesMax)
		}
		id, err := d.newID(random)
		if err != nil {
			return Device{}, err
		}
		next = append(next, Device{ID: id, PublicKey: public, CreatedAt: now.Unix()})
		i = len(next) - 1
	}
	next[i].Name, next[i].LastSeen = name, coarse(now)
	if err := d.save(next); err != nil {
		return Device{}, err
	}
	d.keys[next[i].ID] = key
	return next[i], nil
}

func (d *devices) newID(random io.Reader) (string, error) {
	for {
		raw := make([]byte, deviceIDBytes)
		if _, err := io.ReadFull(random, raw); err != nil {
			return "", fmt.Errorf("name a device: %w", err)
		}
		id := devicePrefix + hex.EncodeToString(raw)
		if _, taken := d.keys[id]; !taken {
			return id, nil
		}
	}
}

func (d *devices) find(id string) (Device, *ecdsa.PublicKey, bool) {
	i := slices.IndexFunc(d.list, func(have Device) bool { return have.ID == id })
	if i < 0 {
		return Device{}, nil, false
	}
	return d.list[i], d.keys[id], true
}

// seen notes that a device was here, and saves when that is news.
func (d *devices) seen(id string, now time.Time) error {
	i := slices.IndexFunc(d.list, func(have Device) bool { return have.ID == id })
	if i < 0 || d.list[i].LastSeen == coarse(now) {
		return nil
	}
	next := slices.Clone(d.list)
	next[i].LastSeen = coarse(now)
	return d.save(next)
}

func (d *devices) remove(id string) error {
	next := slices.DeleteFunc(slices.Clone(d.list), func(have Device) bool { return have.ID == id })
	if len(next) == len(d.list) {
		return ErrUnknownDevice
	}
	if err := d.save(next); err != nil {
		return err
	}
	delete(d.keys, id)
	return nil
}

func coarse(now time.Time) int64 { return now.Truncate(lastSeenStep).Unix() }

// save replaces the file, and then what memory holds.
func (d *devices) save(list []Device) error {
	raw, err := strictjson.Marshal(devicesText{Format: devicesFormat, Devices: list})
	if err != nil {
		return fmt.Errorf("encode devices: %w", err)
	}
	if err := d.folder.replace(devicesFile, append(raw, '\n')); err != nil {
		return fmt.Errorf("save devices: %w", err)
	}
	d.hold(list)
	return nil
}
