// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// Crash is a file system in memory that remembers in which order it was changed, and what of that was
// synced. [Crash.States] tells what a power loss could leave of it. The model, harsher than common file systems:
//
//   - Content and names are apart. A file's Sync keeps its content, not its name; a directory's Sync
//     keeps its names, not the content behind them.
//   - What was not synced may be lost or kept, each change for itself and in any order: names each by
//     itself, content in sectors of 512 bytes, of which each may be old, new, or zeroes.
//   - A rename is one change: there is no moment with both names or with none.
//
// It is for one goroutine. Everything in it belongs to the caller's own user.
type Crash struct {
	nodes []*crashNode  // by number; 0 is the anchor
	base  []*crashNode  // as it was when the log began, all of it durable
	log   []crashChange // since then
}

// crashSector is the unit in which a disk keeps or loses content.
const crashSector = 512

// crashSectorsExact is the number of unsynced sectors of a file up to which all their states are tried:
// three of each. Beyond it, only: the first n, all but one, and all as zeroes.
const crashSectorsExact = 8

type crashNode struct {
	dir   bool
	data  []byte
	names map[string]int // nil but for a directory
}

// crashChange is one step: a write, a name that begins, ends or moves, or a sync of the node.
type crashChange struct {
	op       Op
	node     int // file that is written or synced; directory that is changed or synced
	sync     bool
	data     []byte // of a write
	at       int    // where it begins
	add, cut string // names; both for a rename
	child    int    // node that add means, or cut meant
}

// NewCrash is an empty file system.
func NewCrash() *Crash {
	return newCrash([]*crashNode{{dir: true, names: map[string]int{}}})
}

func newCrash(nodes []*crashNode) *Crash {
	return &Crash{nodes: nodes, base: cloneNodes(nodes)}
}

func cloneNodes(nodes []*crashNode) []*crashNode {
	out := make([]*crashNode, len(nodes))
	for i, n := range nodes {
		out[i] = &crashNode{n.dir, slices.Clone(n.data), maps.Clone(n.names)}
	}
	return out
}

// Len is the number of changes and syncs so far.
func (c *Crash) Len() int { return len(c.log) }

// Clone is the file system as it is, all of it durable.
func (c *Crash) Clone() *Crash { return newCrash(cloneNodes(c.nodes)) }

func (c *Crash) record(change crashChange) {
	change.apply(c.nodes)
	c.log = append(c.log, change)
}

// apply makes the change, which may find that earlier ones were lost.
func (change crashChange) apply(nodes []*crashNode) {
	n := nodes[change.node]
	switch {
	case change.sync:
	case n.dir:
		if change.cut != "" && n.names[change.cut] == change.child {
			delete(n.names, change.cut)
		}
		if change.add != "" {
			n.names[change.add] = change.child
		}
	default:
		if grow := change.at + len(change.data) - len(n.data); grow > 0 {
			n.data = append(n.data, make([]byte, grow)...)
		}
		copy(n.data[change.at:], change.data)
	}
}

func (c *Crash) grow(dir bool) int {
	n := &crashNode{dir: dir}
	if dir {
		n.names = map[string]int{}
	}
	c.nodes, c.base = append(c.nodes, n), append(c.base, cloneNodes([]*crashNode{n})[0])
	return len(c.nodes) - 1
}

// OpenAnchor implements [FS]; all paths are one directory.
func (c *Crash) OpenAnchor(Op, string) (Dir, error) { return &crashDir{c, 0}, nil }

type crashDir struct {
	c *Crash
	n int
}

func (d *crashDir) find(op Op, name string) (int, error) {
	n, ok := d.c.nodes[d.n].names[name]
	if !ok {
		return 0, fmt.Errorf("%s: %s: %w", op, name, fs.ErrNotExist)
	}
	return n, nil
}

func (d *crashDir) make(op Op, name string, dir bool) (int, error) {
	if _, err := d.find(op, name); err == nil {
		return 0, fmt.Errorf("%s: %s: %w", op, name, fs.ErrExist)
	}
	n := d.c.grow(dir)
	d.c.record(crashChange{op: op, node: d.n, add: name, child: n})
	return n, nil
}

func (d *crashDir) Create(op Op, name string) (File, error) {
	n, err := d.make(op, name, false)
	if err != nil {
		return nil, err
	}
	return &crashFile{c: d.c, n: n}, nil
}

func (d *crashDir) MakeDir(op Op, name string) error {
	_, err := d.make(op, name, true)
	return err
}

func (d *crashDir) Open(op Op, name string) (File, error) {
	n, err := d.find(op, name)
	if err != nil {
		return nil, err
	}
	if d.c.nodes[n].dir {
		return nil, fmt.Errorf("%s: %s is a directory: %w", op, name, ErrUnsafe)
	}
	return &crashFile{c: d.c, n: n}, nil
}

func (d *crashDir) OpenDir(op Op, name string) (Dir, error) {
	n, err := d.find(op, name)
	if err != nil {
		return nil, err
	}
	if !d.c.nodes[n].dir {
		return nil, fmt.Errorf("%s: %s is not a directory: %w", op, name, ErrUnsafe)
	}
	return &crashDir{d.c, n}, nil
}

func (d *crashDir) OpenPrivate(op Op, name string) (Dir, error) {
	if err := d.MakeDir(op, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return d.OpenDir(op, name)
}

func (d *crashDir) Look(op Op, name string) (Facts, error) {
	n, err := d.find(op, name)
	if err != nil {
		return Facts{}, err
	}
	return d.c.facts(n), nil
}

func (c *Crash) facts(n int) Facts {
	facts := Facts{Kind: KindRegular, UID: os.Geteuid(), Perm: FileMode, Links: 1, Size: int64(len(c.nodes[n].data)), Inode: uint64(n)}
	if c.nodes[n].dir {
		facts.Kind, facts.Perm = KindDir, DirMode
	}
	return facts
}

func (d *crashDir) Facts(Op) (Facts, error) { return d.c.facts(d.n), nil }

func (d *crashDir) Rename(op Op, from, to string) error {
	if _, err := d.find(op, to); err == nil {
		return fmt.Errorf("%s: %s: %w", op, to, fs.ErrExist)
	}
	n, err := d.find(op, from)
	if err != nil {
		return err
	}
	d.c.record(crashChange{op: op, node: d.n, cut: from, add: to, child: n})
	return nil
}

func (d *crashDir) Remove(op Op, name string) error {
	n, err := d.find(op, name)
	if err != nil {
		return err
	}
	d.c.record(crashChange{op: op, node: d.n, cut: name, child: n})
	return nil
}

func (d *crashDir) RemoveDir(op Op, name string) error {
	n, err := d.find(op, name)
	if err != nil {
		return err
	}
	if node := d.c.nodes[n]; !node.dir || len(node.names) > 0 {
		return fmt.Errorf("%s: %s is not an empty directory", op, name)
	}
	return d.Remove(op, name)
}

func (d *crashDir) Names(Op) ([]string, error) {
	return slices.Sorted(maps.Keys(d.c.nodes[d.n].names)), nil
}

func (d *crashDir) Sync(op Op) error {
	d.c.record(crashChange{op: op, node: d.n, sync: true})
	return nil
}

func (d *crashDir) Allocated(Op) (int64, error) { return 0, nil }
func (d *crashDir) Close(Op) error              { return nil }

type crashFile struct {
	c    *Crash
	n    int
	read int // position
}

func (f *crashFile) Write(op Op, p []byte) (int, error) {
	f.c.record(crashChange{op: op, node: f.n, data: slices.Clone(p), at: len(f.c.nodes[f.n].data)})
	return len(p), nil
}

func (f *crashFile) Read(_ Op, p []byte) (int, error) {
	n := copy(p, f.c.nodes[f.n].data[f.read:])
	if f.read += n; n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (f *crashFile) Sync(op Op) error {
	f.c.record(crashChange{op: op, node: f.n, sync: true})
	return nil
}

func (f *crashFile) Facts(Op) (Facts, error) { return f.c.facts(f.n), nil }
func (f *crashFile) Allocated(Op) (int64, error) {
	return int64(len(f.c.nodes[f.n].data)), nil
}
func (f *crashFile) Close(Op) error { return nil }

var (
	_ FS   = (*Crash)(nil)
	_ Dir  = (*crashDir)(nil)
	_ File = (*crashFile)(nil)
)
