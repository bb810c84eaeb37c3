// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rig

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
)

// Record is what a generator leaves of itself outside of the product, at any instant at which it is killed.
type Record struct {
	Begun   uint64 // bytes of which it had begun to write the last
	Written uint64 // bytes that the terminal had taken
	Sum     [sha256.Size]byte
}

// recordWindow is over how many bytes the sum of a record goes, at most: it begins anew at each multiple, so that hours
// of output need not be made again to hold it against.
const recordWindow = 8 << 20

// recordFormat has one length for all records. One is one write within a page, so a kill leaves the old or the new one.
const recordFormat = "%020d %020d %x\n"

// recorder keeps the record of what goes through it.
type recorder struct {
	w    io.Writer
	file *os.File
	sum  hash.Hash
	Record
}

// Write records what is about to be written, writes it, and records that it was.
func (r *recorder) Write(p []byte) (int, error) {
	if r.sum == nil {
		r.sum = sha256.New()
	}
	r.Begun = r.Written + uint64(len(p))
	if err := r.keep(); err != nil {
		return 0, err
	}
	n, err := r.w.Write(p)
	for rest := p[:n]; len(rest) > 0; {
		part := rest[:min(uint64(len(rest)), recordWindow-r.Written%recordWindow)]
		rest = rest[len(part):]
		if r.Written%recordWindow == 0 {
			r.sum.Reset()
		}
		r.sum.Write(part)
		r.Written += uint64(len(part))
	}
	r.sum.Sum(r.Sum[:0])
	return n, errors.Join(err, r.keep())
}

func (r *recorder) keep() error {
	_, err := r.file.WriteAt(fmt.Appendf(nil, recordFormat, r.Begun, r.Written, r.Sum), 0)
	return err
}

// readRecord is the zero value where the generator had not come to write.
func readRecord(path string) (r Record, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return Record{}, nil
	}
	if err != nil {
		return Record{}, err
	}
	var sum []byte
	if _, err := fmt.Sscanf(string(text), "%d %d %x\n", &r.Begun, &r.Written, &sum); err != nil || len(sum) != len(r.Sum) {
		return Record{}, fmt.Errorf("record %q: %v", text, err)
	}
	copy(r.Sum[:], sum)
	return r, nil
}

// checkedAtOnce is how many bytes a check makes again at a time.
const checkedAtOnce = 1 << 20

// check holds what was written against the script.
func (r Record) check(s Script) error {
	if r.Written > r.Begun {
		return fmt.Errorf("the generator began %d bytes and wrote %d", r.Begun, r.Written)
	}
	if r.Written == 0 {
		return nil
	}
	sum := sha256.New()
	for at := (r.Written - 1) / recordWindow * recordWindow; at < r.Written; {
		part := min(r.Written-at, checkedAtOnce)
		sum.Write(s.bytes(at, int(part)))
		at += part
	}
	if got := sum.Sum(nil); !bytes.Equal(got, r.Sum[:]) {
		return fmt.Errorf("the generator's %d bytes have the sum %x, want %x", r.Written, r.Sum, got)
	}
	return nil
}
