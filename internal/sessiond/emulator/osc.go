// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The OSC commands that are known.
const (
	oscTitleAndIcon   = 0
	oscIcon           = 1
	oscTitle          = 2
	oscPalette        = 4
	oscCwd            = 7
	oscLink           = 8
	oscNotify         = 9
	oscForeground     = 10
	oscBackground     = 11
	oscCursor         = 12
	oscNotifyKitty    = 99
	oscResetPalette   = 104
	oscResetFore      = 110
	oscResetBack      = 111
	oscResetCursor    = 112
	oscMark           = 133
	oscNotifyExtended = 777
)

func knownOSC(command int) bool {
	switch command {
	case oscTitleAndIcon, oscIcon, oscTitle, oscPalette, oscCwd, oscLink, oscNotify, oscNotifyKitty,
		oscForeground, oscBackground, oscCursor, oscResetPalette,
		oscResetFore, oscResetBack, oscResetCursor, oscMark, oscNotifyExtended:
		return true
	}
	return false
}

// oscCollector gathers the body of an OSC. It keeps nothing of a body that is
// too long or begins with no known command: such a one is void.
type oscCollector struct {
	body []byte
	// split is the index of the first ';' in body plus one, 0 before it came.
	split int
	void  bool
}

func (o *oscCollector) start() {
	if cap(o.body) > noticeBytesMax {
		o.body = nil
	}
	o.body, o.split, o.void = o.body[:0], 0, false
}

func (o *oscCollector) put(p []byte) {
	if o.void {
		return
	}
	if len(o.body)+len(p) > stringBytesMax {
		o.makeVoid()
		return
	}
	seen := len(o.body)
	o.body = append(o.body, p...)
	if o.split == 0 {
		o.scanCommand(seen)
	}
}

// scanCommand looks at the bytes from an index on for the end of the command.
func (o *oscCollector) scanCommand(from int) {
	for i := from; i < len(o.body); i++ {
		switch c := o.body[i]; {
		case c == ';':
			o.split = i + 1
			if !knownOSC(o.command(i)) {
				o.makeVoid()
			}
			return
		case c < '0' || c > '9':
			o.makeVoid()
			return
		}
	}
}

func (o *oscCollector) makeVoid() {
	o.body, o.void = nil, true
}

func (o *oscCollector) putRune(r rune) {
	var buf [utf8.UTFMax]byte
	o.put(utf8.AppendRune(buf[:0], r))
}

// command returns the number that the first end bytes spell, -1 when there is
// none.
func (o *oscCollector) command(end int) int {
	n, err := strconv.ParseUint(string(bytes.TrimLeft(o.body[:end], "0")), 10, 16)
	switch {
	case err == nil:
		return int(n)
	case end > 0 && len(bytes.TrimLeft(o.body[:end], "0")) == 0:
		return 0
	}
	return -1
}

// end returns the command, -1 for a void one, and its payload.
func (o *oscCollector) end() (command int, payload string) {
	if o.void {
		return -1, ""
	}
	if o.split == 0 {
		return o.command(len(o.body)), ""
	}
	return o.command(o.split - 1), string(o.body[o.split:])
}

func (o *oscCollector) appendTail(dst []byte) []byte {
	if o.void {
		return append(dst, '!')
	}
	return append(grow(dst, len(o.body)+utf8.UTFMax), o.body...)
}

// osc carries out an operating system command.
func (t *Terminal) osc(command int, payload string) {
	switch command {
	case oscTitleAndIcon:
		t.setTitle(payload)
		t.title.icon = cutText(payload, titleBytesMax)
	case oscIcon:
		t.title.icon = cutText(payload, titleBytesMax)
	case oscTitle:
		t.setTitle(payload)
	case oscPalette:
		t.paletteCommand(payload)
	case oscForeground, oscBackground, oscCursor:
		t.dynamicCommand(command, payload)
	case oscResetPalette:
		t.resetPalette(payload)
	case oscResetFore, oscResetBack, oscResetCursor:
		t.palette.unset(colorForeground + command - oscResetFore)
	case oscLink:
		t.hyperlink(payload)
	default:
		t.oscNotice(command, payload)
	}
}

// oscNotice carries out the commands that tell a person something.
func (t *Terminal) oscNotice(command int, payload string) {
	switch command {
	case oscCwd:
		t.setCwd(payload)
	case oscNotify:
		// ConEmu's 9;4 (progress) and its siblings are no messages.
		if head, _, _ := strings.Cut(payload, ";"); head == "" || !isDigits(head) {
			t.notice(NoticeNotification, payload)
		}
	case oscNotifyKitty:
		if text := t.kitty.take(payload); text != "" {
			t.notice(NoticeNotification, text)
		}
	case oscNotifyExtended:
		if rest, ok := strings.CutPrefix(payload, "notify;"); ok {
			t.notice(NoticeNotification, strings.Replace(rest, ";", ": ", 1))
		}
	case oscMark:
		t.mark(payload)
	}
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// setCwd takes the file URL of OSC 7. An empty one forgets the folder.
func (t *Terminal) setCwd(payload string) {
	if payload == "" {
		t.cwd = ""
		return
	}
	u, err := url.Parse(payload)
	if err != nil || u.Scheme != "file" || u.Path == "" || len(payload) > noticeBytesMax {
		return
	}
	t.cwd = payload
	t.notice(NoticeCwd, u.Path)
}

func (t *Terminal) notice(kind NoticeKind, text string) {
	t.sink.Notice(kind, printable(cutText(text, noticeBytesMax)))
}

// printable drops control characters, which a percent-encoded path can hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// cutText cuts a text to a number of bytes, between code points.
func cutText(s string, bytesMax int) string {
	if len(s) <= bytesMax {
		return s
	}
	for bytesMax > 0 && !utf8.RuneStart(s[bytesMax]) {
		bytesMax--
	}
	return s[:bytesMax]
}
