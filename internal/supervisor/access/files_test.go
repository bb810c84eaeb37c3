// SPDX-License-Identifier: Apache-2.0

//go:build unix

package access

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFilesArePrivateAndTheirFolderIsChecked(t *testing.T) {
	folder := t.TempDir()
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	newBrowser(t).pair(t, openDoor(t, folder, newClock()), "x")
	for _, name := range []string{hostKeyFile, devicesFile} {
		st, err := os.Lstat(filepath.Join(folder, name))
		if err != nil || st.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	entries, _ := os.ReadDir(folder)
	if len(entries) != 2 {
		t.Errorf("left in the folder: %v", entries)
	}

	open := t.TempDir()
	os.Chmod(open, 0o777)
	link := filepath.Join(t.TempDir(), "link")
	os.Symlink(folder, link)
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	for _, bad := range []string{open, link, file, filepath.Join(folder, "missing")} {
		if d, err := Open(bad, Options{}); err == nil {
			d.Close()
			t.Errorf("opened %s", bad)
		} else if !strings.Contains(err.Error(), bad) {
			t.Errorf("the error does not name %s: %v", bad, err)
		}
	}
}

func TestPlantedFilesAreRefusedAndLeftAlone(t *testing.T) {
	good := t.TempDir()
	newBrowser(t).pair(t, openDoor(t, good, newClock()), "x")
	for _, name := range []string{hostKeyFile, devicesFile} {
		content, _ := os.ReadFile(filepath.Join(good, name))
		canary := filepath.Join(t.TempDir(), "canary")
		kinds := map[string]func(path string) error{
			"open to the group": func(p string) error { return errors.Join(os.WriteFile(p, content, 0o600), os.Chmod(p, 0o640)) },
			"open to others":    func(p string) error { return errors.Join(os.WriteFile(p, content, 0o600), os.Chmod(p, 0o604)) },
			"symbolic link":     func(p string) error { return os.Symlink(canary, p) },
			"hard link":         func(p string) error { return os.Link(canary, p) },
			"folder":            func(p string) error { return os.Mkdir(p, 0o700) },
			"fifo":              func(p string) error { return syscall.Mkfifo(p, 0o600) },
			"empty":             func(p string) error { return os.WriteFile(p, nil, 0o600) },
			"too long":          func(p string) error { return os.WriteFile(p, make([]byte, devicesFileMax+1), 0o600) },
			"longer":            func(p string) error { return os.WriteFile(p, append(content, 'x'), 0o600) },
			"shorter":           func(p string) error { return os.WriteFile(p, content[:len(content)-2], 0o600) },
		}
		for kind, plant := range kinds {
			os.WriteFile(canary, content, 0o600)
			folder := t.TempDir()
			path := filepath.Join(folder, name)
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			if d, err := Open(folder, Options{}); err == nil {
				d.Close()
				t.Errorf("%s as %s was accepted", name, kind)
			} else if !strings.Contains(err.Error(), path) {
				t.Errorf("%s as %s: the error does not name it: %v", name, kind, err)
			}
			if have, _ := os.ReadFile(canary); string(have) != string(content) {
				t.Errorf("%s as %s: the target was changed", name, kind)
			}
		}
	}
}

func TestEveryAlteredByteOfTheHostKeyFileIsRefusedOrAnotherKey(t *testing.T) {
	folder := t.TempDir()
	key := openDoor(t, folder, newClock()).HostKey()
	path := filepath.Join(folder, hostKeyFile)
	content, _ := os.ReadFile(path)
	eachAlteration(string(content), func(changed string) {
		os.WriteFile(path, []byte(changed), 0o600)
		d, err := Open(folder, Options{})
		if err == nil {
			defer d.Close()
			if d.HostKey() == key {
				t.Errorf("the same key from %d altered bytes", len(changed))
			}
		}
	})
}

func TestDamagedDevicesAreRefused(t *testing.T) {
	folder := t.TempDir()
	newBrowser(t).pair(t, openDoor(t, folder, newClock()), "x")
	path := filepath.Join(folder, devicesFile)
	raw, _ := os.ReadFile(path)
	content := string(raw)
	entry := content[strings.Index(content, "[")+1 : strings.LastIndex(content, "]")]
	replaced := func(old, new string) string {
		if !strings.Contains(content, old) {
			t.Fatalf("no %s in %s", old, content)
		}
		return strings.Replace(content, old, new, 1)
	}
	for name, bad := range map[string]string{
		"later format": replaced("devices.v1", "devices.v2"), "unknown member": replaced(`"name"`, `"x":1,"name"`),
		"case variant": replaced(`"id"`, `"ID"`), "twice the same": replaced(entry, entry+","+entry), "null": "null", "trailing": content + "{}",
		"negative time": replaced(`"created_at":`, `"created_at":-`), "time as text": replaced(`"created_at":`, `"created_at":"1","x":`),
		"no point": replaced(`"public_key":"B`, `"public_key":"C`), "name with a control": replaced(`"name":"x"`, `"name":"\u001b"`),
		"upper-case id": strings.ReplaceAll(content, "d_", "D_"), "duplicate member": replaced(`"name":"x"`, `"name":"x","name":"x"`),
	} {
		os.WriteFile(path, []byte(bad), 0o600)
		if d, err := Open(folder, Options{}); err == nil {
			d.Close()
			t.Errorf("devices with %s were accepted", name)
		}
	}
}

func TestWhatACrashLeavesIsSweptAway(t *testing.T) {
	folder := t.TempDir()
	key := openDoor(t, folder, newClock()).HostKey()
	path := filepath.Join(folder, hostKeyFile)
	if err := os.Link(path, path+newSuffix); err != nil { // between link and unlink
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, devicesFile+newSuffix), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := openDoor(t, folder, newClock())
	if d.HostKey() != key {
		t.Error("another key")
	}
	newBrowser(t).pair(t, d, "x")
	if _, err := os.Lstat(path + newSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAFailedSaveAdmitsNobodyAndKeepsTheCode(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root may write anywhere, so the folder is taken away instead.
		folder := filepath.Join(t.TempDir(), "state")
		os.Mkdir(folder, 0o700)
		d := openDoor(t, folder, newClock())
		os.RemoveAll(folder)
		b, code, c := newBrowser(t), newCode(t, d), challenge(t, d)
		if _, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x")); err == nil || errors.Is(err, ErrPairing) {
			t.Errorf("paired without a folder: %v", err)
		}
		if len(d.mu.devices.list) != 0 || len(d.mu.codes.living) != 1 || c.paired {
			t.Errorf("after a failed save: %d devices, %d codes, challenge used: %v", len(d.mu.devices.list), len(d.mu.codes.living), c.paired)
		}
		return
	}
	folder := t.TempDir()
	d := openDoor(t, folder, newClock())
	os.Chmod(folder, 0o500)
	b, code, c := newBrowser(t), newCode(t, d), challenge(t, d)
	if _, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x")); err == nil {
		t.Error("paired without saving")
	}
	os.Chmod(folder, 0o700)
	if _, err := d.Pair(c, b.pairRequest(code, c.Nonce(), d.HostKey(), "x")); err != nil {
		t.Errorf("after the folder is back: %v", err)
	}
}
