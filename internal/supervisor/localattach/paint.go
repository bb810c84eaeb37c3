// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"spawn/internal/sessiond/wire"
)

const (
	// sentinel marks a replay that begins with history.
	sentinel = "\x1b_sp:h1\x1b\\"
	// geometryMark begins the mark before the screen; history never holds one.
	geometryMark = "\x1b[8;"

	// enter keeps the user's title.
	enter = "\x1b[22;0t"
	// hold and show are around what goes through the screen on its way into the scrollback: a terminal that
	// knows them goes on showing what it shows.
	hold, show = "\x1b[?2026h", "\x1b[?2026l"
	// wipe makes the visible screen blank, whatever the pane has set: what it shows may be smaller.
	wipe = "\x1b[?47l\x1b[m\x1b[4l\x1b[?6;69l\x1b[r\x1b[H\x1b[J"
	// undo undoes what a program may have set in a terminal.
	undo = "\x1b[?2026l\x1b[?47l\x1b[!p\x1b[4;20l\x1b[?1;5;6;9;12;45;66;69;1000;1002;1003;1004;1005;1006;1015;1016;2004;2031;2048l\x1b[?7;25h" +
		"\x1b[0 q\x1b>\x1b[=0u\x1b[>4m\x1b[m\x1b]8;;\x1b\\\x1b(B\x1b)B\x0f\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\" +
		"\x1b[r"
	// leave gives the title back as well, and goes to a new last line.
	leave = undo + "\x1b[23;0t\x1b[999;1H\r\n"
	// abort ends whatever the former pane was in the middle of.
	abort = "\x18"
)

// painter turns a pane's frames into what is written to the user's terminal.
type painter struct {
	mute  mute
	rows  int  // of the user's terminal
	begun bool // something has been painted: the screen is ours
	told  bool // the history has been written, into the terminal's own scrollback
	out   []byte
	foot  func() string // a line for the foot of each replay that fits there; "" for none, nil for none ever
}

// frame returns what is written for one frame, and whether it is the last.
func (p *painter) frame(kind wire.Kind, payload []byte) (Outcome, []byte, error) {
	switch kind {
	case wire.KindOutput:
		return Outcome{}, p.output(payload), nil
	case wire.KindReplay:
		_, stream, err := wire.DecodeReplay(payload)
		return Outcome{}, p.underlined(p.replay(stream)), err
	case wire.KindExit:
		exit, err := wire.DecodeExit(payload)
		return Outcome{How: Exited, Exit: exit}, nil, err
	case wire.KindNotice:
		n, err := wire.DecodeNotice(payload)
		if err == nil && n.Kind == wire.NoticeDetached {
			return Outcome{How: Lost}, nil, nil
		}
		return Outcome{}, nil, err
	}
	return Outcome{}, nil, nil
}

// output returns what the terminal gets of live bytes. The result is valid until the next call.
func (p *painter) output(live []byte) []byte {
	clear(p.out)
	p.out = p.mute.append(p.out[:0], live)
	return p.out
}

// replay returns what shows a snapshot. What the user had on the screen before goes into the terminal's
// own scrollback first. So does, once, the pane's history when a snapshot has it, behind a screen that is
// there already: a terminal's scrollback grows through its screen alone, which is painted again after it.
func (p *painter) replay(stream []byte) []byte {
	history, screen := split(stream)
	clear(p.out)
	p.out = p.out[:0]
	if !p.begun {
		p.begun = true
		p.scrollAway()
	}
	if len(history) == 0 || p.told {
		p.paint(screen)
		return p.out
	}
	p.told = true
	p.out = append(p.out, hold...)
	p.paint(history)
	p.scrollAway()
	p.paint(screen)
	p.out = append(p.out, show...)
	return p.out
}

// paint shows text on an empty screen. The stream begins anew with it.
func (p *painter) paint(text []byte) {
	p.out = append(p.out, wipe...)
	p.mute = mute{}
	p.out = p.mute.append(p.out, text)
}

// other returns what makes the terminal ready for another pane. Nothing of the former one stays, but for what
// is in the terminal's scrollback; the other's history is not mixed into that.
func (p *painter) other() []byte {
	p.told = true
	clear(p.out)
	p.out = append(p.out[:0], abort+undo+"\x1b[23;0t"+enter+wipe...)
	return p.out
}

// underlined adds the foot to a replay. It is drawn where the cursor comes back from, without the origin
// and the character set of the pane; insert mode can do it no harm.
func (p *painter) underlined(replay []byte) []byte {
	if p.foot == nil || p.foot() == "" {
		return replay
	}
	p.out = append(replay, "\x1b7\x1b[?6l\x1b(B\x0f\x1b[999;1H\x1b[m\x1b[2K\x1b[7m "...)
	p.out = append(append(p.out, p.foot()...), " \x1b[m\x1b8"...)
	return p.out
}

// wideFrom is where characters begin that may be two columns wide.
const wideFrom = 0x1100

// plainText is text that can do a terminal no harm, of at most so many columns: on the last row one more
// would scroll the screen.
func plainText(text string, most int) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r < wideFrom {
			return r
		}
		return '?'
	}, text)
	most = max(most, 0)
	if runes := []rune(shown); len(runes) > most {
		return string(runes[:most])
	}
	return shown
}

// scrollAway moves all visible lines into the scrollback of the terminal.
func (p *painter) scrollAway() {
	p.out = append(p.out, "\x1b[m\x1b[999;1H"...)
	p.out = append(p.out, strings.Repeat("\r\n", p.rows)...)
}

// split cuts a replay into history, without its head, and screen.
func split(stream []byte) (history, screen []byte) {
	at := bytes.LastIndex(stream, []byte(geometryMark))
	if at < 0 {
		return nil, stream
	}
	_, rest, full := bytes.Cut(stream[:at], []byte(sentinel))
	if !full {
		return nil, stream
	}
	return rest, stream[at:]
}

// waiting is a line at the foot of the screen, which the next replay paints over.
func waiting(k Keys) string {
	return fmt.Sprintf("\x1b7\x1b[r\x1b[999;1H\x1b[0;7m spawnd is gone, waiting for it; %v detaches \x1b[m\x1b8", k)
}
