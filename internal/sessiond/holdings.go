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
	keyLocked   bool    // the key's page has every protection; see secret.Key.Warning
	place       vfs.Dir // folder once more: the log is made, kept and removed in it
	log         *scrollback.Log
	ends        *endpoint.Endpoints
	instance    endpoint.InstanceID
	whole       bool // all of it was taken
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
	if err := h.makeLog(cfg); err != nil {
		return fmt.Errorf("make log in %s: %w", h.folder.Path(), err)
	}
	failpoint.Pass(failpoint.LogMade)
	h.ends, err = h.reservation.Listen()
	h.whole = err == nil
	return err
}

// makeLog makes the log below the folder that is held, so that it is not made, and later not removed, in another one that
// was put at its path.
func (h *holdings) makeLog(cfg Config) (err error) {
	files := cfg.files
	if files == nil {
		files = vfs.OS{}
	}
	if h.place, err = files.OpenAnchor("folder.open", h.folder.Held()); err != nil {
		return err
	}
	options := scrollback.Options{SegmentBytes: cfg.SegmentBytes, MaxLogBytes: cfg.MaxLogBytes}
	h.log, err = scrollback.Create(h.place, endpoint.ScrollbackName(cfg.SessionID), h.key, options)
	return err
}

// release gives back what was taken. What cannot be removed stays for the next sweep, and the lock file with it, by which a
// sweep finds the session; the reasons are returned.
func (h *holdings) release() (err error) {
	left := !h.whole // what was begun may be there in part: a log's folder, a socket that nobody came to listen on
	if h.log != nil {
		err = h.log.Destroy()
		left = left || err != nil
		failpoint.Pass(failpoint.LogDestroyed)
	}
	if h.place != nil {
		err = errors.Join(err, h.place.Close("folder.close"))
	}
	if h.key != nil {
		err = errors.Join(err, h.key.Destroy())
		failpoint.Pass(failpoint.KeyDestroyed)
	}
	if h.ends != nil {
		closed := h.ends.Close()
		left = left || closed != nil
		err = errors.Join(err, closed)
		failpoint.Pass(failpoint.SocketsClosed)
	}
	if h.reservation != nil {
		end := h.reservation.Retire
		if left {
			end = h.reservation.Release
		}
		err = errors.Join(err, end())
		failpoint.Pass(failpoint.Retired)
	}
	if h.folder != nil {
		h.folder.Close()
	}
	return err
}
