// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// List is rows of plain text, the oldest first, as a payload spells them: quoted, with a comma between two. A history is long, so it is
// brought into this form once, in one piece of memory without pointers, and is neither taken apart nor spelt again on its way
// into a file. A list does not change. The zero value is no list, which is not the same as a list of no rows.
type List struct {
	spelt []byte // what stands between the brackets; nil for no list
	rows  int
	bytes int // of the rows, without quotes and escapes
}

// errList says that a list cannot be made. It says nothing of the rows.
var errList = errors.New("not a list of rows of plain text")

// ListOf is a list of rows, possibly none. It fails on a row that is not plain text: UTF-8 without C0, DEL and C1 control characters.
func ListOf(rows []string) (List, error) {
	l := List{rows: len(rows)}
	size := 0
	for _, row := range rows {
		escapes, plain := look(row)
		if !plain {
			return List{}, errList
		}
		l.bytes += len(row)
		size += len(`"",`) + len(row) + escapes
	}
	l.spelt = make([]byte, 0, size)
	for i, row := range rows {
		if i > 0 {
			l.spelt = append(l.spelt, ',')
		}
		l.spelt = append(l.spelt, '"')
		l.spelt = appendQuoted(l.spelt, row)
		l.spelt = append(l.spelt, '"')
	}
	if !utf8.Valid(l.spelt) { // no character reaches across a quote
		return List{}, errList
	}
	return l, nil
}

// Len is the number of rows.
func (l List) Len() int { return l.rows }

// Bytes is the number of bytes of the rows.
func (l List) Bytes() int { return l.bytes }

// IsZero reports whether there is no list.
func (l List) IsZero() bool { return l.spelt == nil }

// Newest is the list without its oldest rows: as many are left as rowsMax rows and bytesMax bytes allow.
func (l List) Newest(rowsMax, bytesMax int) List {
	for l.rows > 0 && (l.rows > rowsMax || l.bytes > bytesMax) {
		n, escapes := speltRow(l.spelt)
		l.spelt = l.spelt[min(n+len(`,`), len(l.spelt)):]
		l.rows--
		l.bytes -= n - len(`""`) - escapes
	}
	return l
}

// Rows are the rows one by one.
func (l List) Rows() []string {
	rows := make([]string, 0, l.rows)
	for text := string(l.spelt); len(text) > 0; {
		n, escapes := speltRow(text)
		row := text[1 : n-1]
		if escapes > 0 {
			row = unescaped.Replace(row)
		}
		rows = append(rows, row)
		text = text[min(n+len(`,`), len(text)):]
	}
	return rows
}

var unescaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// MarshalJSON writes the list as it is spelt.
func (l List) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, len(l.spelt)+len(`[]`))
	out = append(out, '[')
	out = append(out, l.spelt...)
	return append(out, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote and nothing else: not another spelling of the same rows.
func (l *List) UnmarshalJSON(text []byte) error {
	if len(text) < len(`[]`) || text[0] != '[' || text[len(text)-1] != ']' || !utf8.Valid(text) {
		return errList
	}
	text = text[1 : len(text)-1]
	read := List{spelt: append([]byte{}, text...)}
	for len(text) > 0 {
		n, escapes := speltRow(text)
		if n == 0 || n < len(text) && (text[n] != ',' || n+1 == len(text)) {
			return errList
		}
		read.rows++
		read.bytes += n - len(`""`) - escapes
		text = text[min(n+len(`,`), len(text)):]
	}
	*l = read
	return nil
}

// speltRow is the length of the quoted row that text, which is UTF-8, begins with, and the number of its escapes; 0 when there is none,
// or it is not plain, or not spelt as it is written. Of plain text only quotes and backslashes are escaped.
func speltRow[T ~string | ~[]byte](text T) (n, escapes int) {
	if len(text) == 0 || text[0] != '"' {
		return 0, 0
	}
	for n = 1; ; {
		for n < len(text) && !stops[text[n]] {
			n++
		}
		more := n+1 < len(text)
		switch {
		case n < len(text) && text[n] == '"':
			return n + 1, escapes
		case more && text[n] == '\\' && (text[n+1] == '"' || text[n+1] == '\\'):
			escapes++
		case more && text[n] == 0xc2 && text[n+1] >= 0xa0:
		default:
			return 0, 0
		}
		n += 2
	}
}

// isPlain accepts UTF-8 without C0, DEL and C1 control characters.
func isPlain(row string) bool {
	_, plain := look(row)
	return plain && utf8.ValidString(row)
}

// look counts what is escaped in a row, and tells whether it is plain if it is UTF-8. It looks at bytes, because every row of text
// comes by here: in UTF-8 a C1 character is 0xc2 and a byte below 0xa0, and 0xc2 is nothing else.
func look(row string) (escapes int, plain bool) {
	for i := range len(row) {
		if !stops[row[i]] {
			continue
		}
		switch b := row[i]; {
		case b == '"' || b == '\\':
			escapes++
		case b < 0xc2 || i+1 < len(row) && row[i+1] < 0xa0:
			return 0, false
		}
	}
	return escapes, true
}

// stops are the bytes at which it takes a look to tell how a row goes on: quotes and backslashes, control characters, and what C1
// characters begin with.
var stops = func() (stops [256]bool) {
	for b := range byte(0x20) {
		stops[b] = true
	}
	stops['"'], stops['\\'], stops[0x7f], stops[0xc2] = true, true, true, true
	return stops
}()
