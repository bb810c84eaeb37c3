// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/pty"
	"spawn/internal/sessiond/wire"
)

const benchBytes = 64 << 20

// benchFile is 64 MiB of lines such as builds print.
func benchFile(b testing.TB) string {
	b.Helper()
	path := b.TempDir() + "/lines"
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var block strings.Builder
	for i := 0; block.Len() < 1<<20; i++ {
		fmt.Fprintf(&block, "[%5d/99999] \x1b[32mCC\x1b[0m  out/obj/some/folder/file_%d.o from src/some/folder/file_%d.c\n", i, i, i)
	}
	for n := 0; n < benchBytes; n += block.Len() {
		if _, err := io.WriteString(f, block.String()); err != nil {
			b.Fatal(err)
		}
	}
	return path
}

// BenchmarkFloor is what a program that only reads the PTY gets.
func BenchmarkFloor(b *testing.B) {
	path := benchFile(b)
	b.SetBytes(benchBytes)
	buf := make([]byte, 64<<10)
	for b.Loop() {
		term, err := pty.Start(pty.Options{Argv: []string{"/bin/cat", path}, Cols: 80, Rows: 24})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = term.Read(buf)
		}
		term.Wait()
		term.Close()
	}
}

// BenchmarkWorkerWithoutViewer is the same through screen and encrypted log.
func BenchmarkWorkerWithoutViewer(b *testing.B) {
	path := benchFile(b)
	b.SetBytes(benchBytes)
	for b.Loop() {
		benchWorker(b, path, func(p *peer) { p.conn.Close() })
	}
}

// BenchmarkWorkerWithViewer adds frames, the socket and a peer that reads.
func BenchmarkWorkerWithViewer(b *testing.B) {
	path := benchFile(b)
	b.SetBytes(benchBytes)
	for b.Loop() {
		benchWorker(b, path, func(p *peer) {
			for {
				if kind, _, err := p.frames.Next(); err != nil || kind == wire.KindExit {
					return
				}
			}
		})
	}
}

func benchWorker(b *testing.B, path string, watch func(p *peer)) {
	worker := launchProcess(b)
	p := dial(b, worker.folder, worker.id)
	p.start([]string{"/bin/cat", path})
	p.next() // the program runs
	watch(p)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for again := p; again.hello.State != wire.StateExited; <-tick.C {
		again = dial(b, worker.folder, worker.id)
		again.conn.Close()
	}
	instance, _ := endpoint.ParseInstanceID(p.hello.InstanceID)
	worker.folder.Signal(b.Context(), worker.id, instance, endpoint.SignalKILL)
	worker.await()
}
