// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor/ownfile"
)

// storeDisk is the system's, with the moments at which a test ends spawnd.
type storeDisk struct{ ownfile.OS }

// Write implements ownfile.Disk.
func (d storeDisk) Write(path string, src []byte) error {
	failpoint.Tear(failpoint.TreeTorn, src, func(half []byte) { _ = d.OS.Write(path, half) })
	return d.OS.Write(path, src)
}

// Rename implements ownfile.Disk.
func (d storeDisk) Rename(from, to string) error {
	err := d.OS.Rename(from, to)
	if err == nil {
		failpoint.Pass(failpoint.TreeRenamed)
	}
	return err
}

// passWritten is the moment before the rename.
func passWritten() error {
	failpoint.Pass(failpoint.TreeWritten)
	return nil
}
