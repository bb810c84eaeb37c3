// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// The host key's file is one line: the label, a space, the 32-byte Ed25519 seed in base64url.
const (
	hostKeyFile  = "host.key"
	hostKeyLabel = "spawn-host-key-v1 "
)

type hostKey struct{ private ed25519.PrivateKey }

func (k *hostKey) public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

func (k *hostKey) sign(text []byte) []byte { return ed25519.Sign(k.private, text) }

// openHostKey reads the key, or makes it when the file does not exist. The caller holds spawnd's lock, so
// that no second process is making it.
func openHostKey(f *folder, random io.Reader) (*hostKey, error) {
	if err := f.sweep(hostKeyFile); err != nil {
		return nil, err
	}
	raw, err := f.read(hostKeyFile, hostKeyFileMax)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createHostKey(f, random); err != nil {
			return nil, fmt.Errorf("create host key: %w", err)
		}
		raw, err = f.read(hostKeyFile, hostKeyFileMax)
	}
	if err != nil {
		return nil, fmt.Errorf("read host key: %w", err)
	}
	key, err := parseHostKey(string(raw))
	if err != nil {
		return nil, fmt.Errorf("read host key %s: %w; move the file away to make a new key, with which every browser has to pair again", f.path(hostKeyFile), err)
	}
	return key, nil
}

func createHostKey(f *folder, random io.Reader) error {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return fmt.Errorf("draw a key: %w", err)
	}
	return f.create(hostKeyFile, []byte(hostKeyLabel+encode(seed)+"\n"))
}

func parseHostKey(line string) (*hostKey, error) {
	text, labelled := strings.CutPrefix(line, hostKeyLabel)
	text, ended := strings.CutSuffix(text, "\n")
	seed, err := decode(text, ed25519.SeedSize)
	if !labelled || !ended || err != nil {
		return nil, errors.New("the file is damaged")
	}
	return &hostKey{ed25519.NewKeyFromSeed(seed)}, nil
}
