// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"strings"
	"time"
)

const (
	// lookEvery is how often one wait looks at the screen at most, while there is output. A look costs the worker
	// one screen of text.
	lookEvery = 100 * time.Millisecond
	// partialBytesMax bounds the unfinished line in which a wait looks for a text; the rest is its front.
	partialBytesMax = 64 << 10
	// aboveRowsMax bounds the rows above the screen in which a wait looks for the front of the screen's first line.
	aboveRowsMax = 1000
	// marksGrace is how long a shell that has marked nothing yet may take to its first prompt, and one whose
	// command is over to make the next.
	marksGrace = 3 * time.Second
	// startGrace is that of a shell that was started to mark its prompts: what its user's files do first may take long.
	startGrace = 15 * time.Second
	// promptGrace is how long a run waits for the prompt behind its command, and the next one for news of a
	// command's end, which comes a little after it.
	promptGrace = 500 * time.Millisecond
	// refusedAfter is how long a shell that shows a prompt behind what was typed, and begins no command, is
	// waited for: it has refused the line. Shells also show a prompt again and begin right after it.
	refusedAfter = 2 * time.Second

	// openLinesMax bounds how many panes are remembered whose shell has begun nothing for a line: more than hold
	// that many people and agents at work, and a pane that is gone is never asked about again.
	openLinesMax = 1024

	// captureRows and captureBytes bound what one capture asks the worker for.
	captureRows  = 100_000
	captureBytes = 4 << 20
	// rowsDefault is how many rows a capture has when nobody says.
	rowsDefault = 10_000
	// answerBytes bounds the texts of one result as JSON has them: with what surrounds them, an answer is at
	// most 8 MiB.
	answerBytes = 6 << 20

	// runBytesDefault is how much a run returns when nobody says.
	runBytesDefault = 1 << 20
	// rawBytesMax is how much of a command's output is held at least, escape sequences included, and half of
	// the most. The front goes first.
	rawBytesMax = 4 << 20

	// matchesDefault is how many matches a search returns when nobody says.
	matchesDefault = 1000
	// exportBytesDefault is how long a document is when nobody says.
	exportBytesDefault = 4 << 20
)

// encoded is how many bytes a text takes in JSON (RFC 8259, section 7, as strictjson writes it).
func encoded(text string) int {
	n := len(`"",`)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n':
			n += 2
		case c < 0x20:
			n += len(`\u001b`)
		default:
			n++
		}
	}
	return n
}

// newest returns the last rows that fit into so many bytes as JSON has them.
func newest(rows []string, most int) []string {
	for i := len(rows) - 1; i >= 0; i-- {
		if most -= encoded(rows[i]); most < 0 {
			return rows[i+1:]
		}
	}
	return rows
}

// fitting returns the end of a text that takes so many bytes in JSON, from the start of a line where there is one.
func fitting(text string, most int) (end string, cut bool) {
	if encoded(text) <= most {
		return text, false
	}
	at := len(text)
	for at > 0 {
		n := encoded(text[at-1:at]) - encoded("")
		if most -= n; most < encoded("") {
			break
		}
		at--
	}
	whole := text[at-1] == '\n'
	text = text[at:]
	if _, rest, ok := strings.Cut(text, "\n"); ok && !whole && rest != "" {
		return rest, true
	}
	return strings.ToValidUTF8(text, ""), true
}
