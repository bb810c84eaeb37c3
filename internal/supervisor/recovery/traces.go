// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"io"
	"slices"

	"spawn/internal/sessiond/vfs"
)

// traces are what a file shows that is not decoded, because it is damaged, of another format, or too long.
type traces struct {
	generation int64 // 0 for none
	text       bool  // it holds terminal text, or may
}

// textSigns are in every file that holds text. The first two, the ends of a list of strings, are so even in one of which
// a stretch is damaged, however long that is: of a text that is left in front of the damage the begin of its list is left too, and
// of one behind it the end. No other list of a checkpoint is one of strings. The rest is for a file that is damaged in
// several places. Quotes are escaped within the envelope.
var textSigns = [][]byte{[]byte(`[\"`), []byte(`\"]`), []byte(`\"availability\":\"plain\"`), []byte(`\"screen\":`), []byte(`\"history\":`)}

func tracesOf(raw []byte) traces {
	return traces{shownGeneration(raw), slices.ContainsFunc(textSigns, func(sign []byte) bool { return bytes.Contains(raw, sign) })}
}

const (
	// skimBytes is how much of a file that is too long is held at a time.
	skimBytes = 64 << 10
	// skimOverlap is how much of it is looked at again with what follows. No sign is longer.
	skimOverlap = 64
)

// skim looks for traces in a file that is too long to be read. One that is longer than any may be is not even looked at, and
// may hold anything. A generation stands near the begin of its file, so that is where it is looked for.
func skim(file vfs.File, size int64) (seen traces, err error) {
	if size > FileBytesMax {
		return traces{text: true}, nil
	}
	window := make([]byte, 0, skimBytes)
	for first := true; !seen.text; first = false {
		for err == nil && len(window) < cap(window) {
			var n int
			n, err = file.Read("checkpoint.read", window[len(window):cap(window)])
			window = window[:len(window)+n]
		}
		here := tracesOf(window)
		if seen.text = here.text; first {
			seen.generation = here.generation
		}
		if err != nil {
			break
		}
		window = append(window[:0], window[len(window)-skimOverlap:]...)
	}
	if err == io.EOF {
		err = nil
	}
	return seen, err
}
