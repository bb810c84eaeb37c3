// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"

	"spawn/internal/sessiond/wire"
)

// terminal is a worker in memory. Its output at position i is a function of i, so that what a page gets
// can be told right from wrong byte by byte; its screen is the position at which it was taken.
type terminal struct {
	mu     sync.Mutex
	some   sync.Cond
	frames []frame
	total  uint64
	closed bool
	typed  chan []byte
}

type frame struct {
	kind    wire.Kind
	payload []byte
}

func newTerminal() *terminal {
	t := &terminal{typed: make(chan []byte, 1000)}
	t.some.L = &t.mu
	return t
}

func at(position uint64) byte { return byte(position*2654435761>>13) | 1 }

func (t *terminal) push(k wire.Kind, payload []byte) {
	t.frames = append(t.frames, frame{k, payload})
	t.some.Signal()
}

// produce writes n bytes of output.
func (t *terminal) produce(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n > 0 {
		p := make([]byte, min(n, 4000))
		for i := range p {
			p[i] = at(t.total)
			t.total++
		}
		t.push(wire.KindOutput, p)
		n -= len(p)
	}
}

func (t *terminal) position() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

func (t *terminal) Recv() (wire.Kind, []byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.frames) == 0 && !t.closed {
		t.some.Wait()
	}
	if t.closed {
		return 0, nil, io.EOF
	}
	f := t.frames[0]
	t.frames = t.frames[1:]
	return f.kind, f.payload, nil
}

func (t *terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.some.Broadcast()
}

func (t *terminal) Input(p []byte) error {
	t.typed <- append([]byte(nil), p...)
	return nil
}
func (t *terminal) Resize(uint16, uint16) error { return nil }
func (t *terminal) SetTheme(wire.Theme) error   { return nil }

// screenOf is what a replay of a position holds: long enough for many pieces when it is full.
func screenOf(position uint64, full bool) string {
	text := fmt.Sprintf("screen at %d;", position)
	if full {
		return strings.Repeat("history ", 10000) + text
	}
	return text
}

func (t *terminal) RequestReplay(max uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	payload := binary.LittleEndian.AppendUint64(nil, t.total)
	t.push(wire.KindReplay, append(payload, screenOf(t.total, max > 0)...))
	return nil
}

func (t *terminal) RequestCapture(wire.CaptureReq) error { return nil }

func (t *terminal) SubscribeHistory(on bool) error {
	if !on {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.history(1, 0, nil)
	return nil
}

func (t *terminal) history(epoch, offset uint64, text []byte) {
	payload := binary.LittleEndian.AppendUint64(nil, epoch)
	payload = binary.LittleEndian.AppendUint64(payload, offset)
	t.push(wire.KindHistory, append(payload, text...))
}
