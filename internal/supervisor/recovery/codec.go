// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/topology"
)

// A file is one line: the envelope, its three members in this order, and a line feed.
//
//	{"format":3,"payload":"{\"checkpoint\":…}","sha256":"64 lower-case hex digits"}
//
// The digest covers the UTF-8 bytes of the payload with its escapes undone. It finds damage; it does not
// authenticate. Both the envelope and the payload have one spelling each, so a changed byte is never
// a file that still reads the same.
const (
	envelopeBegin = `{"format":%d,"payload":`
	envelopeMid   = `,"sha256":"`
	envelopeEnd   = "\"}\n"
	digestLen     = 2 * sha256.Size
)

// Reading is what a reader accepts.
type Reading struct {
	BytesMax int // of a file; more than FileBytesMax is FileBytesMax
	Newest   int // newest format
}

// Decode reads a file: the size, then the format before anything else, then the digest, then the payload
// under the rules of its own format. It returns the format too. Errors are ErrSize, ErrFormat or
// ErrCorrupt, and say nothing of the content.
func Decode(src []byte, r Reading) (Checkpoint, int, error) {
	if len(src) > min(r.BytesMax, FileBytesMax) {
		return Checkpoint{}, 0, oversize("file is too long")
	}
	format, err := strictjson.Peek(src, "format")
	if err != nil {
		return Checkpoint{}, 0, corrupt("no format in the envelope")
	}
	if format < Format1 || format > int64(r.Newest) {
		return Checkpoint{}, 0, &Failure{Code: CodeFormat, reason: "checkpoint: format is not one of this reader"}
	}
	payload, err := unwrap(src, int(format))
	if err != nil {
		return Checkpoint{}, 0, err
	}
	c, err := decodePayload(payload, int(format))
	return c, int(format), err
}

// unwrap checks the envelope and returns the payload.
func unwrap(src []byte, format int) ([]byte, error) {
	rest, begins := bytes.CutPrefix(src, fmt.Appendf(nil, envelopeBegin, format))
	rest, ends := bytes.CutSuffix(rest, []byte(envelopeEnd))
	at := len(rest) - digestLen
	if !begins || !ends || at < 0 {
		return nil, corrupt("envelope is not what a writer writes")
	}
	digest := string(rest[at:])
	quoted, ok := bytes.CutSuffix(rest[:at], []byte(envelopeMid))
	if !ok {
		return nil, corrupt("envelope is not what a writer writes")
	}
	payload, ok := unquote(quoted)
	if !ok {
		return nil, corrupt("payload is not quoted as a writer quotes it")
	}
	if digestOf(payload) != digest {
		return nil, corrupt("checksum does not match")
	}
	return payload, nil
}

// unquote undoes quoting of a payload, in the one way in which it is done: JSON text has no control character, so
// only quotes and backslashes are escaped.
func unquote(quoted []byte) ([]byte, bool) {
	rest, begins := bytes.CutPrefix(quoted, []byte{'"'})
	rest, ends := bytes.CutSuffix(rest, []byte{'"'})
	if !begins || !ends || !utf8.Valid(rest) {
		return nil, false
	}
	out := make([]byte, 0, len(rest))
	for len(rest) > 0 {
		n := special(rest)
		out = append(out, rest[:n]...)
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
		if len(rest) < 2 || rest[0] != '\\' || rest[1] != '"' && rest[1] != '\\' {
			return nil, false
		}
		out = append(out, rest[1])
		rest = rest[2:]
	}
	return out, true
}

// special is where the first character is that a quoted payload has no other way to hold; the length when there is none.
func special(p []byte) int {
	for i, b := range p {
		if b == '"' || b == '\\' || b < 0x20 {
			return i
		}
	}
	return len(p)
}

func digestOf(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// decodePayload counts before it allocates, checks every rule, and at last demands that writing the
// result gives the same bytes: that finds each missing, null, reordered or oddly spelt member.
func decodePayload(payload []byte, format int) (Checkpoint, error) {
	if err := countPayload(payload, format); err != nil {
		return Checkpoint{}, err
	}
	var c Checkpoint
	if err := strictjson.Unmarshal(payload, &c); err != nil {
		return Checkpoint{}, corrupt("payload is not a checkpoint")
	}
	if err := c.check(format); err != nil {
		return Checkpoint{}, err
	}
	if !strictjson.IsSpelt(payload, c) {
		return Checkpoint{}, corrupt("payload is not spelt as a writer spells it")
	}
	return c, nil
}

// countPayload bounds what decoding would allocate. What a format does not have at all is damage, however much there is of it.
func countPayload(payload []byte, format int) error {
	var resources, tags, rows int // the last two of one pane
	err := strictjson.Walk(payload, func(array string) error {
		switch array {
		case "panes":
			tags, rows = 0, 0
			resources++
		case "sessions", "windows", "nodes":
			resources++
		case "tags":
			if tags++; format < Format2 {
				return corrupt("a pane has a field of a later format")
			}
		case "screen", "history":
			rows++
		}
		switch {
		case resources > ResourcesMax:
			return oversize("too many sessions, windows, panes and nodes")
		case tags > topology.TagsMax:
			return oversize("a pane has too many tags")
		case rows > textRowsMax:
			return oversize("a text has too many rows")
		}
		return nil
	})
	var found *Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &found):
		return found
	case errors.Is(err, strictjson.ErrDepth):
		return oversize("nests too deeply")
	case errors.Is(err, strictjson.ErrMembers): // more than any record of ours has: some are doubled or not known
		return corrupt("a record has members that are none of a checkpoint")
	default:
		return corrupt("payload is not JSON")
	}
}

// Encode writes c in the newest format. It refuses what Decode would, with the same errors, so that a
// file that was written can be read. bytesMax bounds the file; more than FileBytesMax is FileBytesMax.
func Encode(c Checkpoint, bytesMax int) ([]byte, error) {
	return encodeAs(c, Format3, bytesMax)
}

// encodeAs writes c in a format that can hold it.
func encodeAs(c Checkpoint, format, bytesMax int) ([]byte, error) {
	c = c.withLists()
	if err := c.check(format); err != nil {
		return nil, err
	}
	size := envelopeLen
	err := c.pieces(func(piece []byte) error { size += quotedLen(piece); return nil })
	if err != nil {
		return nil, err
	}
	if size > min(bytesMax, FileBytesMax) {
		return nil, oversize("does not fit the longest file allowed")
	}
	out := bytes.NewBuffer(make([]byte, 0, size))
	err = c.encode(out, format)
	return out.Bytes(), err
}

// quoteChunk is how much of a payload is quoted at a time. The buffer for it stays in a processor's cache, however long a history is.
const quoteChunk = 32 << 10

// encode writes c, which was checked, as a file. Of the payload, only one pane without its history is made at a time.
func (c Checkpoint) encode(out io.Writer, format int) error {
	if _, err := fmt.Fprintf(out, envelopeBegin+`"`, format); err != nil {
		return err
	}
	digest := sha256.New()
	var quoted []byte
	err := c.pieces(func(piece []byte) error {
		digest.Write(piece)
		for part := range slices.Chunk(piece, quoteChunk) {
			quoted = appendQuoted(quoted[:0], part)
			if _, err := out.Write(quoted); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `"`+envelopeMid+"%x"+envelopeEnd, digest.Sum(nil))
	return err
}

// pieces passes on the payload in parts, each valid during the call: what comes before the panes, then pane by pane, a history
// as it is held.
func (c Checkpoint) pieces(take func(piece []byte) error) error {
	panes := c.Panes
	c.Panes = nil // the last member: [] stands in its place
	head, err := strictjson.Marshal(c)
	if err != nil {
		return corrupt("has text that is not UTF-8")
	}
	if err := take(head[:len(head)-len("]}")]); err != nil {
		return err
	}
	var (
		piece []byte
		pane  Pane
	)
	for i := range panes {
		piece = piece[:0]
		if i > 0 {
			piece = append(piece, ',')
		}
		pane = panes[i]
		if pane.Text.Availability == TextPlain {
			pane.Text.History = noRows // the last member of the last one: the rows go in front of what ends it
		}
		if piece, err = strictjson.AppendMarshal(piece, &pane); err != nil {
			return corrupt("has text that is not UTF-8")
		}
		history, end := panes[i].Text.History.spelt, len(piece)
		if len(history) > 0 {
			end -= len("]}}")
		}
		for _, part := range [][]byte{piece[:end], history, piece[end:]} {
			if err := take(part); err != nil {
				return err
			}
		}
	}
	return take([]byte("]}"))
}

// noRows is a list without rows.
var noRows = List{spelt: []byte{}}

// quotedLen is how long a piece of JSON text is within quotes.
func quotedLen(piece []byte) int {
	return len(piece) + bytes.Count(piece, []byte{'"'}) + bytes.Count(piece, []byte{'\\'})
}

// appendQuoted appends text without control characters, such as a piece of JSON, as it stands within quotes.
func appendQuoted[T ~string | ~[]byte](dst []byte, text T) []byte {
	from := 0
	for i := range len(text) {
		if b := text[i]; b == '"' || b == '\\' {
			dst = append(append(dst, text[from:i]...), '\\')
			from = i
		}
	}
	return append(dst, text[from:]...)
}

// envelopeLen is the length of a file whose payload is empty, for a format of one digit.
const envelopeLen = len(envelopeBegin) - len("%d") + 1 + len(`""`) + len(envelopeMid) + digestLen + len(envelopeEnd)

// withLists gives plain text without history an empty one, which is written where no history would not be.
func (c Checkpoint) withLists() Checkpoint {
	panes := make([]Pane, len(c.Panes))
	copy(panes, c.Panes)
	for i := range panes {
		if text := &panes[i].Text; text.Availability == TextPlain && text.History.IsZero() {
			text.History = noRows
		}
	}
	c.Panes = panes
	return c
}
