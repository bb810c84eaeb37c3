// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
)

// Identity says whose checkpoints a store holds. A file of another identity is corrupt there.
type Identity struct {
	Socket string // absolute path of the daemon's socket, its folder with links resolved
	UID    int
}

// Key is the name of the store's folder: the SHA-256 of the socket's path.
func (id Identity) Key() string {
	sum := sha256.Sum256([]byte(id.Socket))
	return hex.EncodeToString(sum[:])
}

// Folder is where the store of a daemon lies below the folder of state.
func Folder(base string, id Identity) string {
	return filepath.Join(base, "spawn", "recovery", id.Key())
}

// Locate finds the folder of state ($XDG_STATE_HOME, or .local/state in the home folder when that is
// empty) and the identity of the daemon whose socket that is. The socket's folder must exist. There is no other way
// to name a store: no request and no configuration leads elsewhere.
func Locate(xdgStateHome, home, socket string, uid int) (base string, id Identity, err error) {
	if base = xdgStateHome; base == "" {
		base = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(base) {
		return "", Identity{}, errors.New("locate recovery store: XDG_STATE_HOME, or else HOME, must be an absolute path")
	}
	if !filepath.IsAbs(socket) {
		return "", Identity{}, errors.New("locate recovery store: the socket's path is not absolute")
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(socket))
	if err != nil {
		return "", Identity{}, fmt.Errorf("locate recovery store: %w", err)
	}
	return base, Identity{Socket: filepath.Join(folder, filepath.Base(socket)), UID: uid}, nil
}
