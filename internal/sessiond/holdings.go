// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"fmt"
	"path/filepath"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/vfs"
)

// holdings is what a worker has outside its own memory, and the key. It is taken in the order of the fields and given back
// in the other one, so that the lock is the first to come and the last to go.
type holdings struct {
	folder      *endpoint.Folder
	reservation *endpoint.Reservation
	key         *secret.Key
	keyLocked   bool // the key's page has every protection; see secret.Key.Warning
	log         *scrollback.Log
	ends        *endpoint.Endpoints
	instance    endpoint.InstanceID
}

// hold takes everything, or nothing but the session's lock, which then is given up without being retired: whoever started us
// sweeps.
func hold(cfg Config) (*holdings, error) {
	h := &holdings{instance: endpoint.NewInstanceID()}
	if err := h.take(cfg); err != nil {
		return nil, errors.Join(err, h.release())
	}
	return h, nil
}

func (h *holdings) take(cfg Config) (err error) {
	if !filepath.IsAbs(cfg.Folder) {
		return fmt.Errorf("open worker folder: path is relative")
	}
	if h.folder, err = endpoint.OpenFolder(cfg.Folder); err != nil {
		return err
	}
	failpoint.Pass(failpoint.FolderOpen)
	if h.reservation, err = endpoint.Inherit(h.folder, cfg.SessionID, cfg.Lock); err != nil {
		return err
	}
	failpoint.Pass(failpoint.LockHeld)
	if h.key, err = secret.NewKey(); err != nil {
		return err
	}
	// A page that cannot be locked is no reason not to work: what is on disk stays encrypted. HELLO tells.
	h.keyLocked = h.key.Warning() == nil
	failpoint.Pass(failpoint.KeyMade)
	options := scrollback.Options{SegmentBytes: cfg.SegmentBytes, MaxLogBytes: cfg.MaxLogBytes}
	if h.log, err = scrollback.Create(vfs.OS{}, h.folder.ScrollbackPath(cfg.SessionID), h.key, options); err != nil {
		return err
	}
	failpoint.Pass(failpoint.LogMade)
	h.ends, err = h.reservation.Listen()
	return err
}

// release gives back what was taken. What cannot be removed stays for the next sweep; the reasons are returned.
func (h *holdings) release() (err error) {
	if h.log != nil {
		err = errors.Join(err, h.log.Destroy())
		failpoint.Pass(failpoint.LogDestroyed)
	}
	if h.key != nil {
		err = errors.Join(err, h.key.Destroy())
		failpoint.Pass(failpoint.KeyDestroyed)
	}
	if h.ends != nil {
		h.ends.Close()
		failpoint.Pass(failpoint.SocketsClosed)
	}
	if h.reservation != nil {
		err = errors.Join(err, h.reservation.Retire())
		failpoint.Pass(failpoint.Retired)
	}
	if h.folder != nil {
		h.folder.Close()
	}
	return err
}
