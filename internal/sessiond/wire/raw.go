// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// SizeMax is the largest number of columns or rows a terminal may have; the smallest is 1.
const SizeMax = 1000

// ForegroundRunesMax is the most characters of a FOREGROUND name.
const ForegroundRunesMax = 64

func checkSize(cols, rows uint16) error {
	if cols < 1 || cols > SizeMax || rows < 1 || rows > SizeMax {
		return fmt.Errorf("%w: size %dx%d outside 1..%d", ErrPayload, cols, rows, SizeMax)
	}
	return nil
}

// checkDecode applies k's size rules to a payload that did not have to come through a Reader.
func checkDecode(k Kind, payload []byte) error {
	if err := byKind[k].checkLen(uint64(len(payload))); err != nil {
		return fmt.Errorf("decode frame: %w", err)
	}
	return nil
}

// AppendInput appends INPUT: at most InputMax bytes as typed.
func AppendInput(dst, p []byte) ([]byte, error) { return AppendFrame(dst, KindInput, p) }

// AppendOutput appends OUTPUT: at most OutputMax bytes exactly as the program wrote them.
func AppendOutput(dst, p []byte) ([]byte, error) { return AppendFrame(dst, KindOutput, p) }

// AppendRedraw appends REDRAW, which workers accept and ignore.
func AppendRedraw(dst []byte) ([]byte, error) { return AppendFrame(dst, KindRedraw) }

// AppendResize appends RESIZE: columns and rows, each 1 to SizeMax.
func AppendResize(dst []byte, cols, rows uint16) ([]byte, error) {
	if err := checkSize(cols, rows); err != nil {
		return dst, fmt.Errorf("encode RESIZE: %w", err)
	}
	var p [resizeLen]byte
	binary.LittleEndian.PutUint16(p[0:], cols)
	binary.LittleEndian.PutUint16(p[2:], rows)
	return AppendFrame(dst, KindResize, p[:])
}

// DecodeResize reads the payload of RESIZE.
func DecodeResize(payload []byte) (cols, rows uint16, err error) {
	if err := checkDecode(KindResize, payload); err != nil {
		return 0, 0, err
	}
	cols, rows = binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:])
	if err := checkSize(cols, rows); err != nil {
		return 0, 0, fmt.Errorf("decode RESIZE: %w", err)
	}
	return cols, rows, nil
}

// AppendReplayReq appends REPLAY_REQ. With maxBytes > 0 the worker answers with the whole v2 stream,
// its history limited to maxBytes; with 0 with the screen alone.
func AppendReplayReq(dst []byte, maxBytes uint32) ([]byte, error) {
	var p [replayReqLen]byte
	binary.LittleEndian.PutUint32(p[:], maxBytes)
	return AppendFrame(dst, KindReplayReq, p[:])
}

// DecodeReplayReq reads the payload of REPLAY_REQ.
func DecodeReplayReq(payload []byte) (maxBytes uint32, err error) {
	if err := checkDecode(KindReplayReq, payload); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(payload), nil
}

// AppendReplay appends REPLAY: the number of output bytes since the worker's start that the stream
// covers, then the stream's parts in order. No bytes after the watermark mean that the history cannot
// be had: the log is disabled or failed authentication.
func AppendReplay(dst []byte, watermark uint64, stream ...[]byte) ([]byte, error) {
	n := watermarkLen
	for _, p := range stream {
		n += len(p)
	}
	dst, err := appendHeaderOf(dst, KindReplay, n)
	if err != nil {
		return dst, err
	}
	dst = binary.LittleEndian.AppendUint64(dst, watermark)
	for _, p := range stream {
		dst = append(dst, p...)
	}
	return dst, nil
}

// DecodeReplay reads the payload of REPLAY. stream is a part of payload.
func DecodeReplay(payload []byte) (watermark uint64, stream []byte, err error) {
	if err := checkDecode(KindReplay, payload); err != nil {
		return 0, nil, err
	}
	return binary.LittleEndian.Uint64(payload), payload[watermarkLen:], nil
}

// AppendHistorySub appends HISTORY_SUB: from now on, or no longer, the worker sends what it commits.
func AppendHistorySub(dst []byte, on bool) ([]byte, error) {
	p := [historySubLen]byte{0}
	if on {
		p[0] = 1
	}
	return AppendFrame(dst, KindHistorySub, p[:])
}

// DecodeHistorySub reads the payload of HISTORY_SUB: one byte, 1 for on, 0 for off, nothing else.
func DecodeHistorySub(payload []byte) (on bool, err error) {
	if err := checkDecode(KindHistorySub, payload); err != nil {
		return false, err
	}
	if payload[0] > 1 {
		return false, fmt.Errorf("decode HISTORY_SUB: %w: byte 0x%02x", ErrPayload, payload[0])
	}
	return payload[0] == 1, nil
}

// History is one committed batch, or with an empty Text an anchor that says where the next begins.
type History struct {
	Epoch  uint64 // changes with each wipe
	Offset uint64 // bytes of plain history committed in this epoch before Text's first byte
	Text   []byte // self-contained styled lines; at most HistoryTextMax bytes
}

// AppendHistory appends HISTORY.
func AppendHistory(dst []byte, h History) ([]byte, error) {
	dst, err := appendHeaderOf(dst, KindHistory, historyAnchorLen+len(h.Text))
	if err != nil {
		return dst, err
	}
	dst = binary.LittleEndian.AppendUint64(dst, h.Epoch)
	dst = binary.LittleEndian.AppendUint64(dst, h.Offset)
	return append(dst, h.Text...), nil
}

// DecodeHistory reads the payload of HISTORY. Text is a part of payload.
func DecodeHistory(payload []byte) (History, error) {
	if err := checkDecode(KindHistory, payload); err != nil {
		return History{}, err
	}
	h := History{
		Epoch:  binary.LittleEndian.Uint64(payload),
		Offset: binary.LittleEndian.Uint64(payload[8:]),
		Text:   payload[historyAnchorLen:],
	}
	if h.Offset+uint64(len(h.Text)) < h.Offset {
		return History{}, fmt.Errorf("decode HISTORY: %w: offset overflows", ErrPayload)
	}
	return h, nil
}

// AppendHistoryWipe appends HISTORY_WIPE: all history before it is gone, epoch begins at offset 0.
func AppendHistoryWipe(dst []byte, epoch uint64) ([]byte, error) {
	var p [historyWipeLen]byte
	binary.LittleEndian.PutUint64(p[:], epoch)
	return AppendFrame(dst, KindHistoryWipe, p[:])
}

// DecodeHistoryWipe reads the payload of HISTORY_WIPE.
func DecodeHistoryWipe(payload []byte) (epoch uint64, err error) {
	if err := checkDecode(KindHistoryWipe, payload); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(payload), nil
}

// AppendForeground appends FOREGROUND: the basename of the command that owns the terminal, at most
// ForegroundRunesMax characters without controls and without a slash, "" when unknown.
func AppendForeground(dst []byte, name string) ([]byte, error) {
	if err := checkForeground(name); err != nil {
		return dst, fmt.Errorf("encode FOREGROUND: %w", err)
	}
	return AppendFrame(dst, KindForeground, []byte(name))
}

// DecodeForeground reads the payload of FOREGROUND.
func DecodeForeground(payload []byte) (string, error) {
	if err := checkDecode(KindForeground, payload); err != nil {
		return "", err
	}
	name := string(payload)
	if err := checkForeground(name); err != nil {
		return "", fmt.Errorf("decode FOREGROUND: %w", err)
	}
	return name, nil
}

func checkForeground(name string) error {
	if !utf8.ValidString(name) {
		return fmt.Errorf("%w: name is not UTF-8", ErrPayload)
	}
	if n := utf8.RuneCountInString(name); n > ForegroundRunesMax {
		return fmt.Errorf("%w: name of %d characters, at most %d", ErrPayload, n, ForegroundRunesMax)
	}
	for _, r := range name {
		if r == '/' || isControl(r) {
			return fmt.Errorf("%w: name holds %U", ErrPayload, r)
		}
	}
	return nil
}

// isControl reports C0, DEL and C1.
func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }
