// SPDX-License-Identifier: Apache-2.0

//go:build failpoints && unix

package points

import (
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/vfs"
)

// Files are the real ones, with a point behind each call.
func Files() vfs.FS { return files{vfs.OS{}} }

// done is behind a call, whatever came of it.
func done(op vfs.Op) { failpoint.Pass(failpoint.Point(Prefix + string(op))) }

type files struct{ vfs.FS }

func (f files) OpenAnchor(op vfs.Op, path string) (vfs.Dir, error) {
	inner, err := f.FS.OpenAnchor(op, path)
	return folder(op, inner, err)
}

func folder(op vfs.Op, inner vfs.Dir, err error) (vfs.Dir, error) {
	defer done(op)
	if err != nil {
		return nil, err
	}
	return dir{inner}, nil
}

type dir struct{ vfs.Dir }

func (d dir) Create(op vfs.Op, name string) (vfs.File, error) {
	inner, err := d.Dir.Create(op, name)
	return opened(op, inner, err)
}

func (d dir) Open(op vfs.Op, name string) (vfs.File, error) {
	inner, err := d.Dir.Open(op, name)
	return opened(op, inner, err)
}

func opened(op vfs.Op, inner vfs.File, err error) (vfs.File, error) {
	defer done(op)
	if err != nil {
		return nil, err
	}
	return file{inner}, nil
}

func (d dir) OpenDir(op vfs.Op, name string) (vfs.Dir, error) {
	inner, err := d.Dir.OpenDir(op, name)
	return folder(op, inner, err)
}

func (d dir) OpenPrivate(op vfs.Op, name string) (vfs.Dir, error) {
	inner, err := d.Dir.OpenPrivate(op, name)
	return folder(op, inner, err)
}

func (d dir) MakeDir(op vfs.Op, name string) error {
	defer done(op)
	return d.Dir.MakeDir(op, name)
}

func (d dir) Look(op vfs.Op, name string) (vfs.Facts, error) {
	defer done(op)
	return d.Dir.Look(op, name)
}

func (d dir) Facts(op vfs.Op) (vfs.Facts, error) {
	defer done(op)
	return d.Dir.Facts(op)
}

func (d dir) Rename(op vfs.Op, from, to string) error {
	defer done(op)
	return d.Dir.Rename(op, from, to)
}

func (d dir) Sync(op vfs.Op) error {
	defer done(op)
	return d.Dir.Sync(op)
}

func (d dir) Remove(op vfs.Op, name string) error {
	defer done(op)
	return d.Dir.Remove(op, name)
}

func (d dir) RemoveDir(op vfs.Op, name string) error {
	defer done(op)
	return d.Dir.RemoveDir(op, name)
}

func (d dir) Names(op vfs.Op) ([]string, error) {
	defer done(op)
	return d.Dir.Names(op)
}

func (d dir) Allocated(op vfs.Op) (int64, error) {
	defer done(op)
	return d.Dir.Allocated(op)
}

func (d dir) Close(op vfs.Op) error {
	defer done(op)
	return d.Dir.Close(op)
}

type file struct{ vfs.File }

func (f file) Write(op vfs.Op, p []byte) (int, error) {
	failpoint.Tear(failpoint.Point(Prefix+string(op)), p, func(half []byte) { _, _ = f.File.Write(op, half) })
	return f.File.Write(op, p)
}

func (f file) Read(op vfs.Op, p []byte) (int, error) {
	defer done(op)
	return f.File.Read(op, p)
}

func (f file) Facts(op vfs.Op) (vfs.Facts, error) {
	defer done(op)
	return f.File.Facts(op)
}

func (f file) Sync(op vfs.Op) error {
	defer done(op)
	return f.File.Sync(op)
}

func (f file) Allocated(op vfs.Op) (int64, error) {
	defer done(op)
	return f.File.Allocated(op)
}

func (f file) Close(op vfs.Op) error {
	defer done(op)
	return f.File.Close(op)
}
