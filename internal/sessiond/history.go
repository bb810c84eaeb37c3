// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"crypto/rand"
	"encoding/binary"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/wire"
)

// history is the committed lines: the log, and the anchor by which a viewer knows where a batch belongs.
type history struct {
	log *scrollback.Log
	// lost means that the log has failed and is gone. Live output goes on; replays are unavailable.
	lost bool
	// epoch is random at the start, so that a viewer never takes one worker's history for another's, and grows by one
	// with each wipe.
	epoch uint64
	// offset is the bytes of text committed in this epoch.
	offset uint64
}

func newHistory(log *scrollback.Log) history {
	var nonce [8]byte
	rand.Read(nonce[:]) // never fails: the runtime ends the process instead
	return history{log: log, epoch: binary.LittleEndian.Uint64(nonce[:])}
}

// sink receives from the emulator, within the loop.
type sink struct{ w *worker }

// History logs committed lines, then tells a subscriber, so that nobody sees a line that a replay would not have.
func (s sink) History(text []byte) { s.outside(func() { s.w.commit(text) }) }

// Wipe makes the history so far stop existing.
func (s sink) Wipe() { s.outside(s.w.wipe) }

// Reply answers a query of the program.
func (s sink) Reply(p []byte) { s.w.inbox.answer(p) }

// Notice remembers something to tell the supervisor.
func (s sink) Notice(kind emulator.NoticeKind, text string) { s.w.notices.add(kind, text) }

// outside marks f as not the emulator's code; see guard.
func (s sink) outside(f func()) {
	guarded := s.w.guarded
	s.w.guarded = false
	f()
	s.w.guarded = guarded
}

func (w *worker) commit(text []byte) {
	if w.history.lost || len(text) == 0 {
		return
	}
	if err := w.history.log.Append(text); err != nil {
		w.loseHistory()
		return
	}
	for len(text) > 0 {
		piece := text[:min(len(text), wire.HistoryTextMax)]
		w.tellHistory(piece)
		failpoint.Pass(failpoint.LineTold)
		w.history.offset += uint64(len(piece))
		text = text[len(piece):]
	}
}

// tellHistory sends a batch that begins at the present offset; an empty one is an anchor. A peer that is far behind goes without
// it: the next batch shows it a hole, and what is missing is in the log.
func (w *worker) tellHistory(text []byte) {
	if w.conn == nil || !w.conn.subscribed {
		return
	}
	if stream, _ := w.conn.out.size(); len(text) > 0 && stream+len(text) > outboxHistoryMax {
		return
	}
	h := wire.History{Epoch: w.history.epoch, Offset: w.history.offset, Text: text}
	w.conn.send(push(w.conn.out, wire.HeaderLen+16+len(text), h, wire.AppendHistory))
}

// wipe erases the log and begins another epoch, also when erasing failed: the log is then destroyed.
func (w *worker) wipe() {
	if w.history.lost {
		return
	}
	failpoint.Pass(failpoint.WipeBefore)
	err := w.history.log.Wipe()
	failpoint.Pass(failpoint.WipeAfter)
	w.history.epoch++
	w.history.offset = 0
	if w.conn != nil && w.conn.capturing != nil {
		w.conn.capturing.forget()
	}
	if w.conn != nil && w.conn.subscribed {
		w.conn.send(push(w.conn.out, frameHint, w.history.epoch, wire.AppendHistoryWipe))
	}
	if err != nil {
		w.loseHistory()
	}
}

// loseHistory notes that the log has destroyed itself. Nobody is told any batch from here on.
func (w *worker) loseHistory() {
	w.history.lost = true
	if w.conn != nil && w.conn.capturing != nil {
		w.conn.capturing.lose()
	}
	w.tellNotice(wire.Notice{Kind: wire.NoticeHistoryLost})
}

// replay is the payload of one REPLAY before it is encoded.
type replay struct {
	watermark uint64
	stream    []byte
}

func appendReplay(dst []byte, r replay) ([]byte, error) {
	return wire.AppendReplay(dst, r.watermark, r.stream)
}

// sendReplay answers REPLAY_REQ. If the stream cannot be had, or would not fit a frame, the answer is the watermark alone:
// a part of the truth is never shown as the whole.
func (w *worker) sendReplay(maxBytes uint32) {
	stream := w.replayStream(maxBytes)
	failpoint.Pass(failpoint.ReplayMade)
	r := replay{w.watermark, stream}
	err := pushAnswer(w.conn.out, wire.HeaderLen+8+len(stream), r, appendReplay)
	if err != nil {
		err = pushAnswer(w.conn.out, frameHint, replay{watermark: w.watermark}, appendReplay)
	}
	secret.Wipe(stream)
	w.conn.send(err)
}

// replayStream is the v2 stream, nil when the history is unavailable; for maxBytes 0 it is its screen section alone.
func (w *worker) replayStream(maxBytes uint32) []byte {
	cols, rows := w.screen.Size()
	var stream []byte
	if maxBytes > 0 {
		var err error
		if stream, err = w.historySection(cols, rows, maxBytes); err != nil {
			return nil
		}
	}
	head := stream
	whole := w.guard(func(screen *emulator.Terminal) {
		stream = screen.AppendRepaint(emulator.AppendGeometry(stream, cols, rows))
	})
	if !whole {
		secret.Wipe(head)
		return nil
	}
	return stream
}

func (w *worker) historySection(cols, rows int, maxBytes uint32) ([]byte, error) {
	head := emulator.AppendReplayHead(nil, cols, rows)
	return w.history.log.AppendReplay(head, int(min(maxBytes, wire.MaxFrameLen)))
}
