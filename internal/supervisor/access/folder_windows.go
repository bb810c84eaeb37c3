// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"path/filepath"
)

// ErrUnsafe means that a file or folder is not one that we may trust.
var ErrUnsafe = errors.New("unsafe file")

// folder cannot be opened here: who may read a file is a question of its DACL on this system, and keys
// are not kept in files that nobody has checked.
type folder struct{ name string }

func openFolder(string) (*folder, error) { return nil, errors.ErrUnsupported }

func (f *folder) path(base string) string            { return filepath.Join(f.name, base) }
func (f *folder) Close() error                       { return errors.ErrUnsupported }
func (f *folder) read(string, int64) ([]byte, error) { return nil, errors.ErrUnsupported }
func (f *folder) create(string, []byte) error        { return errors.ErrUnsupported }
func (f *folder) replace(string, []byte) error       { return errors.ErrUnsupported }
func (f *folder) sweep(string) error                 { return errors.ErrUnsupported }
