// SPDX-License-Identifier: Apache-2.0

package scrollback

import (
	"bytes"
	"encoding/binary"
)

// A segment file is records and nothing else, no header, no footer:
//
//	 offset 0            4      5                13
//	┌───────────────────┬──────┬────────────────┬─────────────────────────────┐
//	│ u32 LE length     │ u8   │ u64 LE         │ ciphertext, length bytes:   │
//	│ of the ciphertext │ kind │ seq            │ text ‖ 16 bytes of tag      │
//	└───────────────────┴──────┴────────────────┴─────────────────────────────┘
//	                    └── AAD, 9 bytes ───────┘
//
//	nonce, 12 bytes = seq u64 LE (bytes 0–7) ‖ zero (bytes 8–11)
//
// The tag covers AAD, text and both their lengths, so a changed length fails as well: with it the
// tag is looked for in the wrong place. One record is one ChaCha20-Poly1305 seal.
const (
	HeaderBytes = 13
	TagBytes    = 16
	NonceBytes  = 12

	lengthBytes         = 4
	recordOverheadBytes = HeaderBytes + TagBytes
)

// kind says what a record's plaintext is. The values are on disk.
type kind uint8

// kindHistory is a batch of committed lines as self-contained styled text. There is no other
// kind: a wipe removes the files and writes nothing.
const kindHistory kind = 1

// longestRecord is what a record of this log has at most, in a file.
func (l *Log) longestRecord() int { return l.recordBytes + recordOverheadBytes }

func (l *Log) setNonce(seq uint64) { binary.LittleEndian.PutUint64(l.nonce[:8], seq) }

// seal makes the whole record for text in l.record, where it stays until the next one.
func (l *Log) seal(seq uint64, text []byte) []byte {
	header := l.record[:HeaderBytes]
	binary.LittleEndian.PutUint32(header, uint32(len(text)+TagBytes))
	header[lengthBytes] = byte(kindHistory)
	binary.LittleEndian.PutUint64(header[lengthBytes+1:], seq)
	l.setNonce(seq)
	return l.aead.Seal(header, l.nonce[:], text, header[lengthBytes:])
}

// parse reads the header of the record with number seq, which is at the start of b, and returns
// the length of the whole record. A reason, when not empty, says why it is not that record.
func parse(b []byte, seq uint64, textMax int64) (length int, reason string) {
	n := int64(binary.LittleEndian.Uint32(b))
	switch {
	case n < TagBytes || n > textMax+TagBytes:
		return 0, "impossible length"
	case kind(b[lengthBytes]) != kindHistory:
		return 0, "unknown kind"
	case binary.LittleEndian.Uint64(b[lengthBytes+1:HeaderBytes]) != seq:
		return 0, "another sequence number"
	}
	return HeaderBytes + int(n), ""
}

// open appends the plaintext of a parsed record to dst, which has room for it.
func (l *Log) open(dst, record []byte, seq uint64) ([]byte, error) {
	l.setNonce(seq)
	return l.aead.Open(dst, l.nonce[:], record[HeaderBytes:], record[lengthBytes:HeaderBytes])
}

// cut returns how much of text goes into the next record: all of it if that fits, else up to and
// including the last line end that fits, else whatever fits.
func cut(text []byte, most int) int {
	if len(text) <= most {
		return len(text)
	}
	if end := bytes.LastIndexByte(text[:most], '\n'); end >= 0 {
		return end + 1
	}
	return most
}
