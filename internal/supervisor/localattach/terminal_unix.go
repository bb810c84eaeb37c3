// SPDX-License-Identifier: Apache-2.0

//go:build unix

package localattach

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the user's, in raw mode between raw and restore.
type terminal struct {
	out    *os.File
	inFD   int
	outFD  int
	before *term.State // nil while it is as the user had it
	wakeR  *os.File    // becomes readable when reading is to end
	wakeW  *os.File
}

func openTerminal(in, out *os.File) (*terminal, error) {
	t := &terminal{out: out, inFD: int(in.Fd()), outFD: int(out.Fd())}
	if !term.IsTerminal(t.inFD) || !term.IsTerminal(t.outFD) {
		return nil, ErrNoTerminal
	}
	var err error
	if t.wakeR, t.wakeW, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	return t, nil
}

func (t *terminal) close() { _ = errors.Join(t.wakeR.Close(), t.wakeW.Close()) }

func (t *terminal) size() (cols, rows uint16) {
	c, r, err := term.GetSize(t.outFD)
	if err != nil || c < 1 || r < 1 {
		return 80, 24 // a terminal that does not know its size
	}
	return uint16(min(c, 1000)), uint16(min(r, 1000))
}

func (t *terminal) raw() error {
	before, err := term.MakeRaw(t.inFD)
	if err != nil {
		return fmt.Errorf("put the terminal into raw mode: %w", err)
	}
	if t.before == nil {
		t.before = before
	}
	return nil
}

func (t *terminal) restore() error {
	if t.before == nil {
		return nil
	}
	err := term.Restore(t.inFD, t.before)
	t.before = nil
	return err
}

// read waits for keys. It ends with io.EOF when the terminal is gone, and with errWoken after wake.
func (t *terminal) read(p []byte) (int, error) {
	in, wake := t.inFD, int(t.wakeR.Fd())
	for {
		var ready unix.FdSet
		ready.Set(in)
		ready.Set(wake)
		_, err := unix.Select(max(in, wake)+1, &ready, nil, nil, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("wait for keys: %w", err)
		case ready.IsSet(wake):
			return 0, errWoken
		}
		n, err := unix.Read(in, p)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil || n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

var errWoken = errors.New("reading was ended")

// wake ends read, now and later.
func (t *terminal) wake() { _, _ = t.wakeW.Write([]byte{0}) }
