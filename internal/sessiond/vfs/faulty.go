// SPDX-License-Identifier: Apache-2.0

package vfs

import "cmp"

// Mode is the way in which a call goes wrong.
type Mode uint8

const (
	// FailCall does nothing and returns the error. A close still closes.
	FailCall Mode = 1
	// FailDone does all of it and returns the error: the outcome the caller cannot know.
	FailDone Mode = 2
	// ShortWrite writes Keep bytes and returns that number with the error, which may be nil as
	// a broken device has it. Only writes are counted.
	ShortWrite Mode = 3
	// LyingWrite writes Keep bytes and claims all. Only writes are counted.
	LyingWrite Mode = 4
)

// Fault is one fault and where it strikes.
type Fault struct {
	At   int   // the call it strikes, from 1; 0 never strikes
	Mode Mode  // one of the above
	Err  error // what the call returns; LyingWrite does not use it
	Keep int   // bytes that arrive; a negative number is counted from the end, all but that many
	On   bool  // the fault persists: it strikes every later call too
}

// Faulty passes every call on to FS, counts them, and makes one go wrong. Storage tests run
// their story with At 1, 2, 3, … until a run ends with Struck false. It is for one goroutine.
type Faulty struct {
	FS    FS
	Fault Fault
	// Tap, when set, is told of each write that reached a file, with the bytes that did.
	Tap func(op Op, name string, p []byte)

	calls int
	hits  map[Op]int // nil until the fault strikes
}

// Struck tells whether the fault has struck.
func (f *Faulty) Struck() bool { return len(f.hits) > 0 }

// Hits is how often the fault has struck each operation. It is not the caller's to change.
func (f *Faulty) Hits() map[Op]int { return f.hits }

// Calls is the number of calls counted so far.
func (f *Faulty) Calls() int { return f.calls }

// strikes counts a call and tells whether it is to go wrong.
func (f *Faulty) strikes(op Op, write bool) bool {
	if !write && (f.Fault.Mode == ShortWrite || f.Fault.Mode == LyingWrite) {
		return false
	}
	f.calls++
	if f.Fault.At == 0 || f.calls < f.Fault.At || (f.calls > f.Fault.At && !f.Fault.On) {
		return false
	}
	if f.hits == nil {
		f.hits = map[Op]int{}
	}
	f.hits[op]++
	return true
}

// do runs call, or not, and returns what the caller gets to see.
func (f *Faulty) do(op Op, call func() error) error {
	if !f.strikes(op, false) {
		return call()
	}
	if f.Fault.Mode == FailDone {
		_ = call() // the injected error is what counts
	}
	return f.Fault.Err
}

// OpenAnchor implements [FS].
func (f *Faulty) OpenAnchor(op Op, path string) (Dir, error) {
	return f.openDirWith(op, path, f.FS.OpenAnchor)
}

func (f *Faulty) openDirWith(op Op, path string, open func(Op, string) (Dir, error)) (dir Dir, err error) {
	err = f.do(op, func() error {
		inner, err := open(op, path)
		if err == nil {
			dir = &faultyDir{f, inner}
		}
		return err
	})
	if err != nil && dir != nil {
		_ = dir.(*faultyDir).inner.Close(op) // done, but the caller never learns of it
		dir = nil
	}
	return dir, err
}

type faultyDir struct {
	f     *Faulty
	inner Dir
}

func (d *faultyDir) Create(op Op, name string) (File, error) {
	return d.openWith(op, name, d.inner.Create)
}
func (d *faultyDir) Open(op Op, name string) (File, error) { return d.openWith(op, name, d.inner.Open) }

func (d *faultyDir) OpenDir(op Op, name string) (Dir, error) {
	return d.f.openDirWith(op, name, d.inner.OpenDir)
}

func (d *faultyDir) OpenPrivate(op Op, name string) (Dir, error) {
	return d.f.openDirWith(op, name, d.inner.OpenPrivate)
}

func (d *faultyDir) MakeDir(op Op, name string) error {
	return d.f.do(op, func() error { return d.inner.MakeDir(op, name) })
}

func (d *faultyDir) Look(op Op, name string) (facts Facts, err error) {
	err = d.f.do(op, func() error { facts, err = d.inner.Look(op, name); return err })
	return facts, err
}

func (d *faultyDir) Facts(op Op) (facts Facts, err error) {
	err = d.f.do(op, func() error { facts, err = d.inner.Facts(op); return err })
	return facts, err
}

func (d *faultyDir) Rename(op Op, from, to string) error {
	return d.f.do(op, func() error { return d.inner.Rename(op, from, to) })
}

func (d *faultyDir) Sync(op Op) error {
	return d.f.do(op, func() error { return d.inner.Sync(op) })
}

func (d *faultyDir) openWith(op Op, name string, open func(Op, string) (File, error)) (file File, err error) {
	err = d.f.do(op, func() error {
		inner, err := open(op, name)
		if err == nil {
			file = &faultyFile{d.f, name, inner}
		}
		return err
	})
	if err != nil && file != nil {
		_ = file.(*faultyFile).inner.Close(op) // done, but the caller never learns of it
		file = nil
	}
	return file, err
}

func (d *faultyDir) Remove(op Op, name string) error {
	return d.f.do(op, func() error { return d.inner.Remove(op, name) })
}

func (d *faultyDir) RemoveDir(op Op, name string) error {
	return d.f.do(op, func() error { return d.inner.RemoveDir(op, name) })
}

func (d *faultyDir) Names(op Op) (names []string, err error) {
	err = d.f.do(op, func() error { names, err = d.inner.Names(op); return err })
	return names, err
}

func (d *faultyDir) Allocated(op Op) (n int64, err error) {
	err = d.f.do(op, func() error { n, err = d.inner.Allocated(op); return err })
	return n, err
}

func (d *faultyDir) Close(op Op) error {
	closed := d.inner.Close(op)
	return d.f.do(op, func() error { return closed })
}

type faultyFile struct {
	f     *Faulty
	name  string
	inner File
}

func (file *faultyFile) Write(op Op, p []byte) (int, error) {
	if !file.f.strikes(op, true) {
		return file.pass(op, p)
	}
	fault := &file.f.Fault
	switch fault.Mode {
	case ShortWrite, LyingWrite:
		n, err := file.pass(op, p[:kept(fault.Keep, len(p))])
		if err != nil || fault.Mode == ShortWrite {
			return n, cmp.Or(err, fault.Err)
		}
		return len(p), nil
	case FailDone:
		n, err := file.pass(op, p)
		return n, cmp.Or(err, fault.Err)
	default:
		return 0, fault.Err
	}
}

// pass writes p for real and reports what arrived.
func (file *faultyFile) pass(op Op, p []byte) (int, error) {
	n, err := file.inner.Write(op, p)
	if file.f.Tap != nil && n > 0 {
		file.f.Tap(op, file.name, p[:n])
	}
	return n, err
}

// kept is how many of n bytes arrive.
func kept(keep, n int) int {
	if keep < 0 {
		keep += n
	}
	return max(0, min(keep, n))
}

func (file *faultyFile) Read(op Op, p []byte) (n int, err error) {
	err = file.f.do(op, func() error { n, err = file.inner.Read(op, p); return err })
	return n, err
}

func (file *faultyFile) Facts(op Op) (facts Facts, err error) {
	err = file.f.do(op, func() error { facts, err = file.inner.Facts(op); return err })
	return facts, err
}

func (file *faultyFile) Sync(op Op) error {
	return file.f.do(op, func() error { return file.inner.Sync(op) })
}

func (file *faultyFile) Allocated(op Op) (n int64, err error) {
	err = file.f.do(op, func() error { n, err = file.inner.Allocated(op); return err })
	return n, err
}

func (file *faultyFile) Close(op Op) error {
	closed := file.inner.Close(op)
	return file.f.do(op, func() error { return closed })
}

var _ FS = (*Faulty)(nil)
