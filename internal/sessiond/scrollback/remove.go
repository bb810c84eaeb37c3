// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"errors"
	"fmt"
	"io/fs"
)

// Wipe removes every segment, as an application asks for with ED 3: what was cleared no longer
// exists on disk. The sequence goes on where it was, so no nonce comes again. If a file cannot
// be removed the log is disabled, because a later replay would bring the cleared text back.
func (l *Log) Wipe() error {
	if l.disabled {
		return l.removeAll() // what an earlier failure could not remove
	}
	if err := l.removeAll(); err != nil {
		return l.fail(fmt.Errorf("wipe scrollback: %w", err))
	}
	return nil
}

// Destroy removes the segments and the folder. It tries everything whatever fails, and may be
// called again to try what is left.
func (l *Log) Destroy() error {
	l.disabled, l.record = true, nil
	failed := l.removeAll()
	if len(l.segments) == 0 {
		failed = errors.Join(failed, l.closeFolder(), l.removeFolder())
	}
	if failed != nil {
		return fmt.Errorf("destroy scrollback %s: %w", l.name, failed)
	}
	return nil
}

func (l *Log) closeFolder() error {
	if l.dir == nil {
		return nil
	}
	dir := l.dir
	l.dir = nil
	return dir.Close("directory.close")
}

func (l *Log) removeFolder() error {
	if l.outer == nil {
		return nil
	}
	if err := l.outer.RemoveDir("directory.remove", l.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.outer = nil
	return nil
}

// fail ends the log's service because of cause, and tells both.
func (l *Log) fail(cause error) error {
	l.disabled = true
	return errors.Join(fmt.Errorf("%w: %w", ErrDisabled, cause), l.removeAll())
}

// removeAll removes every segment it can and keeps the rest listed.
func (l *Log) removeAll() error {
	failed := []error{l.closeActive()}
	left := l.segments[:0]
	for _, seg := range l.segments {
		if err := l.remove(seg); err != nil {
			failed = append(failed, err)
			left = append(left, seg)
			continue
		}
		l.used -= seg.charge()
	}
	l.segments = left
	return errors.Join(failed...)
}

// remove unlinks one segment. One that is gone already is what was wanted.
func (l *Log) remove(seg segment) error {
	err := l.dir.Remove("segment.remove", seg.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
