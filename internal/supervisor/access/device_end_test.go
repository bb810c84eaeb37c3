// SPDX-License-Identifier: Apache-2.0

//go:build unix

package access

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUnpairIsKeptAndThePairedBrowserIsTurnedAway(t *testing.T) {
	folder, c := t.TempDir(), newClock()
	d := openDoor(t, folder, c)
	b := newBrowser(t)
	gone := b.pair(t, d, "Gone")
	kept := newBrowser(t).pair(t, d, "Kept")
	if err := d.Unpair(gone.ID); err != nil {
		t.Fatal(err)
	}
	if err := d.Unpair(gone.ID); err != ErrUnknownDevice {
		t.Errorf("twice: %v", err)
	}
	for _, door := range []*Door{d, openDoor(t, folder, c)} {
		if list := door.Devices(); len(list) != 1 || list[0].ID != kept.ID || door.Paired(gone.ID) || !door.Paired(kept.ID) {
			t.Errorf("paired: %+v", list)
		}
	}
	if again := b.pair(t, d, "Gone"); again.ID == gone.ID {
		t.Error("a browser that was unpaired came back under its old id, and with it to what that was given")
	}
}

func TestOwnerTokenFile(t *testing.T) {
	folder := t.TempDir()
	if _, err := ReadOwnerToken(folder); err == nil {
		t.Error("a token was read where there is none")
	}
	for fill := range byte(2) { // the next spawnd's replaces it
		token := Token{fill, 1, 2}
		if err := KeepOwnerToken(folder, token); err != nil {
			t.Fatal(err)
		}
		if text, err := ReadOwnerToken(folder); err != nil || text != token.String() {
			t.Errorf("%q (%v)", text, err)
		}
	}
	path := filepath.Join(folder, ownerTokenFile)
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", st.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadOwnerToken(folder); err == nil {
		t.Error("a damaged token was read")
	}
}
