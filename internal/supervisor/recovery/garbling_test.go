// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"syscall"

	"spawn/internal/sessiond/vfs"
)

// garbling is a file system whose disk does something else than it was told.
type garbling struct {
	vfs.FS
	garble func(read []byte)      // what is read is changed by it; nil: it is what was written
	broken func(name string) bool // whether a file cannot be read; nil: all can
	pieces int                    // bytes in which a write reaches the disk; 0 for as many as there are
}

// lastByte is damage that leaves all but the last byte of a read legible.
func lastByte(p []byte) { p[len(p)-1] ^= 1 }

// everyByte leaves nothing legible.
func everyByte(p []byte) { clear(p) }

func (g *garbling) OpenAnchor(op vfs.Op, path string) (vfs.Dir, error) {
	d, err := g.FS.OpenAnchor(op, path)
	return garblingDir{d, g}, err
}

type garblingDir struct {
	vfs.Dir
	g *garbling
}

func (d garblingDir) OpenDir(op vfs.Op, name string) (vfs.Dir, error) {
	inner, err := d.Dir.OpenDir(op, name)
	return garblingDir{inner, d.g}, err
}

func (d garblingDir) Open(op vfs.Op, name string) (vfs.File, error) {
	return d.with(op, name, d.Dir.Open)
}

func (d garblingDir) Create(op vfs.Op, name string) (vfs.File, error) {
	return d.with(op, name, d.Dir.Create)
}

func (d garblingDir) with(op vfs.Op, name string, open func(vfs.Op, string) (vfs.File, error)) (vfs.File, error) {
	f, err := open(op, name)
	if err != nil {
		return nil, err
	}
	return garblingFile{f, name, d.g}, nil
}

type garblingFile struct {
	vfs.File
	name string
	g    *garbling
}

func (f garblingFile) Read(op vfs.Op, p []byte) (int, error) {
	if f.g.broken != nil && f.g.broken(f.name) {
		return 0, syscall.EIO
	}
	n, err := f.File.Read(op, p)
	if op == "checkpoint.read" && n > 0 && f.g.garble != nil {
		f.g.garble(p[:n])
	}
	return n, err
}

func (f garblingFile) Write(op vfs.Op, p []byte) (n int, err error) {
	if f.g.pieces == 0 {
		return f.File.Write(op, p)
	}
	for n < len(p) {
		piece := p[n:min(len(p), n+f.g.pieces)]
		m, err := f.File.Write(op, piece)
		if n += m; err != nil || m < len(piece) {
			return n, err
		}
	}
	return n, nil
}
