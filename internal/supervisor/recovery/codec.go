// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

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
	c, err := decodePayload([]byte(payload), int(format))
	return c, int(format), err
}

// unwrap checks the envelope and returns the payload.
func unwrap(src []byte, format int) (string, error) {
	rest, begins := bytes.CutPrefix(src, fmt.Appendf(nil, envelopeBegin, format))
	rest, ends := bytes.CutSuffix(rest, []byte(envelopeEnd))
	at := len(rest) - digestLen
	if !begins || !ends || at < 0 {
		return "", corrupt("envelope is not what a writer writes")
	}
	digest := string(rest[at:])
	quoted, ok := bytes.CutSuffix(rest[:at], []byte(envelopeMid))
	if !ok {
		return "", corrupt("envelope is not what a writer writes")
	}
	var payload string
	if err := strictjson.Unmarshal(quoted, &payload); err != nil {
		return "", corrupt("payload is not a string")
	}
	if again, err := strictjson.Marshal(payload); err != nil || !bytes.Equal(again, quoted) {
		return "", corrupt("payload is not quoted as a writer quotes it")
	}
	if digestOf([]byte(payload)) != digest {
		return "", corrupt("checksum does not match")
	}
	return payload, nil
}

func digestOf(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// decodePayload counts before it allocates, checks every rule, and at last demands that writing the
// result gives the same bytes: that finds each missing, null, reordered or oddly spelt member.
func decodePayload(payload []byte, format int) (Checkpoint, error) {
	if err := countPayload(payload); err != nil {
		return Checkpoint{}, err
	}
	var c Checkpoint
	if err := strictjson.Unmarshal(payload, &c); err != nil {
		return Checkpoint{}, corrupt("payload is not a checkpoint")
	}
	if err := c.check(format); err != nil {
		return Checkpoint{}, err
	}
	if again, err := strictjson.Marshal(c); err != nil || !bytes.Equal(again, payload) {
		return Checkpoint{}, corrupt("payload is not spelt as a writer spells it")
	}
	return c, nil
}

// countPayload bounds what decoding would allocate.
func countPayload(payload []byte) error {
	var resources, tags, rows int // the last two of one pane
	err := strictjson.Walk(payload, func(array string) error {
		switch array {
		case "panes":
			tags, rows = 0, 0
			resources++
		case "sessions", "windows", "nodes":
			resources++
		case "tags":
			tags++
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
	case errors.Is(err, strictjson.ErrDepth), errors.Is(err, strictjson.ErrMembers):
		return oversize("nests too deeply, or has too many members")
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
	payload, err := strictjson.Marshal(c)
	if err != nil {
		return nil, corrupt("has text that is not UTF-8")
	}
	quoted, err := strictjson.Marshal(string(payload))
	if err != nil {
		return nil, corrupt("has text that is not UTF-8")
	}
	size := len(quoted) + envelopeLen
	if size > min(bytesMax, FileBytesMax) {
		return nil, oversize("does not fit the longest file allowed")
	}
	out := fmt.Appendf(make([]byte, 0, size), envelopeBegin, format)
	out = append(append(out, quoted...), envelopeMid...)
	out = append(append(out, digestOf(payload)...), envelopeEnd...)
	return out, nil
}

// envelopeLen is the length of a file without its quoted payload, for a format of one digit.
const envelopeLen = len(envelopeBegin) - len("%d") + 1 + len(envelopeMid) + digestLen + len(envelopeEnd)

// withLists gives plain text without history an empty one, which is written where no history would not be.
func (c Checkpoint) withLists() Checkpoint {
	panes := make([]Pane, len(c.Panes))
	copy(panes, c.Panes)
	for i := range panes {
		if text := &panes[i].Text; text.Availability == TextPlain && text.History == nil {
			text.History = []string{}
		}
	}
	c.Panes = panes
	return c
}
