// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"spawn/internal/sessiond/emulator/streams"
)

// producerScript is what runs on every terminal of the figures of the whole path, whoever owns that terminal. Each
// line from the first FIFO makes it print the file and then that line, the mark; the second FIFO tells when it
// has. With a fourth argument the terminal is raw, and after one round it echoes what is typed.
const producerScript = `
[ -z "$4" ] || stty raw -echo
while read -r mark <"$1"; do
	cat "$2"
	printf '%s\n' "$mark"
	echo >"$3"
	[ -z "$4" ] || exec cat
done
`

// textFile is what producers print.
type textFile struct {
	path         string
	bytes, lines int
}

// makeText writes a file of build lines.
func makeText(l *lab, size int) (textFile, error) {
	path := filepath.Join(l.dir, "text-"+strconv.Itoa(size))
	text := streams.Build.Bytes(size)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return textFile{}, fmt.Errorf("write text: %w", err)
	}
	return textFile{path, len(text), bytes.Count(text, []byte("\n"))}, nil
}

// producer is one such program, to be started on some terminal.
type producer struct {
	argv     []string
	text     textFile
	begin    *os.File // FIFO; both ends are open here, so that neither side ever waits for the other to open it
	finished *os.File
	pending  int // rounds that were started and not waited for
}

// newProducer makes the FIFOs and the command. An echoing one prints its text once and then echoes.
func newProducer(l *lab, text textFile, echoes bool) (*producer, error) {
	script := filepath.Join(l.dir, "producer.sh")
	if !exists(script) { // a shell reads its script as it goes, so one that runs must not see it change
		if err := os.WriteFile(script, []byte(producerScript), 0o600); err != nil {
			return nil, fmt.Errorf("make producer: %w", err)
		}
	}
	name := filepath.Join(l.dir, fmt.Sprintf("fifo-%016x", rand.Uint64()))
	p := &producer{text: text}
	var err error
	if p.begin, err = makeFIFO(name + "-begin"); err != nil {
		return nil, err
	}
	if p.finished, err = makeFIFO(name + "-finished"); err != nil {
		return nil, err
	}
	p.argv = []string{"/bin/sh", script, p.begin.Name(), text.path, p.finished.Name()}
	if echoes {
		p.argv = append(p.argv, "echo")
	}
	return p, nil
}

func makeFIFO(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("make FIFO: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("make FIFO: %w", err)
	}
	return f, nil
}

// newMark is a line that no text contains. All have the same length.
func newMark() string { return fmt.Sprintf("<end-of-text-%016x>", rand.Uint64()) }

// produced is what one round prints as a terminal passes it on, with a CR before each LF.
func (p *producer) produced() int {
	return p.text.bytes + p.text.lines + len(newMark()) + len("\r\n")
}

// start lets one round begin.
func (p *producer) start(mark string) error {
	if _, err := p.begin.WriteString(mark + "\n"); err != nil {
		return fmt.Errorf("start producer: %w", err)
	}
	p.pending++
	return nil
}

// wait returns when the program has printed all of the rounds that were started.
func (p *producer) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.finished.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for ; p.pending > 0; p.pending-- {
		if _, err := p.finished.Read(make([]byte, 1)); err != nil {
			return fmt.Errorf("wait for producer: %w", err)
		}
	}
	return nil
}

func (p *producer) close() {
	_ = p.begin.Close()
	_ = p.finished.Close()
}
