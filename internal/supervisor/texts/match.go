// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"bytes"
	"regexp"
	"strings"

	"spawn/internal/supervisor/turns"
	"spawn/internal/supervisor/verbs"
)

// pattern makes one expression of a text or an expression of RE2, exactly one of which is there.
func pattern(text, regex string, ignoreCase bool) (*regexp.Regexp, error) {
	expr := regex
	if text != "" {
		expr = regexp.QuoteMeta(text)
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, verbs.Errorf(verbs.CodeRegex, "the expression is not one of RE2").With("param", "regex")
	}
	return re, nil
}

// lines looks for a match in lines of output as they are put out, whatever becomes of them on the screen.
type lines struct {
	match   *regexp.Regexp
	partial []byte // of the line that has no end yet
}

// feed looks into the lines that end in the output.
func (l *lines) feed(output []byte, gap bool) (string, bool) {
	if gap {
		l.partial = nil
	}
	end := bytes.LastIndexByte(output, '\n') + 1
	whole := output[:end]
	if end > 0 && len(l.partial) > 0 {
		whole = append(l.partial, whole...)
	}
	if end > 0 {
		l.partial = nil
	}
	l.partial = append(l.partial, output[end:]...)
	if extra := len(l.partial) - partialBytesMax; extra > 0 {
		l.partial = append(l.partial[:0], l.partial[extra:]...)
	}
	for len(whole) > 0 { // line by line: what is not looked at any more is not held
		n := bytes.IndexByte(whole, '\n') + 1
		if line, ok := l.in(whole[:n]); ok {
			return line, true
		}
		whole = whole[n:]
	}
	return "", false
}

// unfinished looks into the line that has no end yet, such as a question.
func (l *lines) unfinished() (string, bool) { return l.in(l.partial) }

func (l *lines) in(raw []byte) (string, bool) {
	text, _ := turns.Plain(raw, partialBytesMax)
	text = bare(strings.TrimSuffix(text, "\n"))
	return text, text != "" && l.match.MatchString(text)
}

// onScreen returns the last line that matches of those that are on the screen, or end there.
func onScreen(s sheet, re *regexp.Regexp) (string, bool) {
	for from, to := range s.backward() {
		if s.first+to <= 0 {
			break
		}
		if line := bare(strings.Join(s.plain[from:to], "")); line != "" && re.MatchString(line) {
			return line, true
		}
	}
	return "", false
}
