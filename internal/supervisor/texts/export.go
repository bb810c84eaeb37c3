// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"
	"fmt"
	"strings"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
)

// format is how a document is put together: a head, one piece for each row, a tail.
type format struct {
	styled     bool
	head, tail func(shot wire.Capture) string
	row        func(row string) string
	whole      bool // blank rows at the end belong to it
}

// formats are the documents by the name that the verb has for them.
var formats = map[string]format{
	"plain":     {head: nothing, tail: nothing, row: line},
	"ansi":      {head: nothing, tail: nothing, row: line, styled: true},
	"html":      {head: htmlHead, tail: func(wire.Capture) string { return htmlTail }, row: htmlRow, styled: true},
	"asciicast": {head: castHead, tail: castTail, row: castRow, styled: true, whole: true},
}

func nothing(wire.Capture) string { return "" }

func line(row string) string { return row + "\n" }

// Export writes history and primary screen as a document. It is the newest part when all of it is too long.
func Export(ctx context.Context, t Terminal, p verbs.PaneExportParams) (verbs.PaneExportResult, error) {
	f := formats[p.Format]
	shot, err := document(ctx, t, wire.CaptureReq{What: wire.CaptureAll, MaxRows: captureRows, MaxBytes: captureBytes, Styled: f.styled})
	if err != nil {
		return verbs.PaneExportResult{}, err
	}
	s := sheetOf(shot)
	rows := s.plain
	if f.styled {
		rows = s.styled
	}
	if rows = shown(rows); !f.whole {
		for len(rows) > 0 && rows[len(rows)-1] == "" {
			rows = rows[:len(rows)-1]
		}
	}
	most := exportBytesDefault
	if p.Max != 0 {
		most = int(p.Max)
	}
	data, cut := f.write(shot, rows, most)
	return verbs.PaneExportResult{Data: data, Cut: cut || s.cut}, nil
}

// write puts the document together, of at most so many bytes for its rows.
func (f format) write(shot wire.Capture, rows []string, most int) (string, bool) {
	pieces := make([]string, len(rows))
	first, room := len(rows), answerBytes
	for first > 0 {
		piece := f.row(rows[first-1])
		most -= len(piece)
		if room -= encoded(piece); most < 0 || room < 0 {
			break
		}
		first--
		pieces[first] = piece
	}
	return f.head(shot) + strings.Join(pieces[first:], "") + f.tail(shot), first > 0
}

// The asciicast format, version 3 (docs.asciinema.org/manual/asciicast/v3): a header, and here one event, because
// what is known is the present state and not when each byte of it came.

func castHead(shot wire.Capture) string {
	return fmt.Sprintf("{\"version\":3,\"term\":{\"cols\":%d,\"rows\":%d}}\n[0.0,\"o\",\"", shot.Cols, shot.Rows)
}

// castRow is a row on a line of its own: each begins with the step from the one before.
func castRow(row string) string { return inString("\r\n" + row) }

// castTail puts the cursor where it is.
func castTail(shot wire.Capture) string {
	return inString(fmt.Sprintf("\x1b[%d;%dH", shot.Cursor.Row+1, shot.Cursor.Col+1)) + "\"]\n"
}

// inString is a text as it stands between the quotation marks of JSON.
func inString(text string) string {
	src, err := strictjson.Marshal(text)
	if err != nil {
		panic(fmt.Sprintf("texts: internal error: %v", err)) // rows are valid UTF-8
	}
	return string(src[1 : len(src)-1])
}
