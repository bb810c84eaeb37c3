// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"spawn/internal/chance"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/scrollback"
)

// A storm of resizes over full screens commits and wraps without end. Whatever it does, the log stays within its charge and
// its files, and the charge is no less than what the log really takes of the disk and of memory.
func TestResizeStormStaysWithinTheCharge(t *testing.T) {
	const rounds = 600
	seed := chance.Seed(t)
	for name, cfg := range map[string]Config{
		"as delivered":      {},
		"a record a file":   {SegmentBytes: 1},
		"lowered":           {MaxLogBytes: 512 << 10},
		"lowered, by bytes": {MaxLogBytes: 512 << 10, SegmentBytes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			w, path := wornWorker(t, cfg)
			most := cmp.Or(cfg.MaxLogBytes, scrollback.MaxLogBytes)
			// From the smallest to far beyond what anybody has, each as likely by its order of size.
			side := func(lowest int) uint16 { return uint16(max(lowest, 1<<r.IntN(9)+r.IntN(1<<r.IntN(8)+1))) }
			for n := range rounds {
				switch r.IntN(4) {
				case 0: // one character a line
					w.output(bytes.Repeat([]byte("x\r\n"), 200))
				case 1: // one that never ends
					w.output(bytes.Repeat([]byte("w"), 16<<10))
				case 2:
					w.output(bytes.Repeat([]byte("\x1b[1;31mstyled \x1b[m界\r\n"), 100))
				}
				w.resize(side(2), side(1))
				if n%40 == 0 || n == rounds-1 {
					requireWithinCharge(t, w, path, most)
				}
			}
			// The largest there is, full, made the smallest: a million characters at once.
			w.resize(1000, 1000)
			w.output(bytes.Repeat([]byte("f"), 1<<20))
			w.resize(2, 1)
			requireWithinCharge(t, w, path, most)
			if w.history.log.Stats().FirstSeq == 1 {
				t.Error("the log was never full: the test shows nothing")
			}
			text, err := w.history.log.AppendReplay(nil, scrollback.MaxLogBytes)
			if err != nil || int64(len(text)) != w.history.log.Stats().Text {
				t.Errorf("the replay has %d bytes, %v", len(text), err)
			}
		})
	}
}

// wornWorker is a worker without a loop and a program, for who drives it alone, and its log's folder.
func wornWorker(t *testing.T, cfg Config) (*worker, string) {
	t.Helper()
	folder, id := openTestFolder(t), endpoint.NewSessionID()
	cfg.Folder, cfg.SessionID, cfg.Lock, cfg.Clock = folder.Path(), id, lockFor(t, folder, id), newFakeClock()
	held, err := hold(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := held.release(); err != nil {
			t.Error(err)
		}
	})
	return newWorker(cfg, held), filepath.Join(folder.Path(), endpoint.ScrollbackName(id))
}

func requireWithinCharge(t *testing.T, w *worker, path string, most int) {
	t.Helper()
	s := w.history.log.Stats()
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || s.Disabled || w.history.lost {
		t.Fatalf("%v, disabled: %v", err, s.Disabled)
	}
	if s.Charged > int64(most) || s.Segments > scrollback.MaxFiles || len(files) != s.Segments {
		t.Fatalf("charge %d of %d, %d segments of %d in %d files", s.Charged, most, s.Segments, scrollback.MaxFiles, len(files))
	}
	var storage, length int64
	for _, file := range append(files, path) {
		st, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		storage += st.Sys().(*syscall.Stat_t).Blocks * 512
		if file != path {
			length += st.Size()
		}
	}
	if real := storage + length + scrollback.ReplayCopies*s.Text; length != s.Stored || real > s.Charged {
		t.Fatalf("really %d, charged %d; files hold %d, the books say %d", real, s.Charged, length, s.Stored)
	}
}
