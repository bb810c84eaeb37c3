// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"fmt"
	"strings"
)

// ownerTokenFile lies in the runtime folder, which does not outlast the host's run.
const ownerTokenFile = "owner.token"

// KeepOwnerToken writes the owner's token to where ReadOwnerToken finds it, in place of an earlier
// spawnd's. It is the one token that is in a file: a person has to come by it without asking spawnd. The
// folder must be the owner's alone, and so is the file.
func KeepOwnerToken(folder string, t Token) error {
	f, err := openFolder(folder)
	if err != nil {
		return err
	}
	if err := f.replace(ownerTokenFile, []byte(t.String()+"\n")); err != nil {
		return errors.Join(fmt.Errorf("keep the owner's token: %w", err), f.Close())
	}
	return f.Close()
}

// ReadOwnerToken returns the token for OwnerWord.
func ReadOwnerToken(folder string) (string, error) {
	f, err := openFolder(folder)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := f.read(ownerTokenFile, ownerTokenFileMax)
	if err != nil {
		return "", fmt.Errorf("read the owner's token (is spawnd running?): %w", err)
	}
	text := strings.TrimSuffix(string(raw), "\n")
	if _, err := decode(text, tokenBytes); err != nil {
		return "", fmt.Errorf("read the owner's token %s: the file is damaged; start spawnd anew", f.path(ownerTokenFile))
	}
	return text, nil
}
