// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"bytes"
	"slices"
	"strings"
)

// asker is a control sequence that makes a terminal answer, by its final byte and what stands before.
type asker struct {
	final   byte
	private string // one of these begins the parameters; "" for any or none
	inter   string // one of these stands before the final byte; "" for none, or anything
}

const anything = "anything"

// askers are those of xterm, VTE, kitty, foot and the DEC terminals, and all of CSI … t, which besides
// asking moves, sizes and names the window that is the user's own.
var askers = []asker{
	{'c', "", anything}, // DA1, DA2, DA3
	{'n', "", anything}, // DSR, CPR, colour scheme
	{'t', "", anything}, // window operations
	{'x', "", ""},       // DECREQTPARM
	{'p', "", "$"},      // DECRQM
	{'q', ">", ""},      // XTVERSION
	{'u', "?", ""},      // keyboard flags
	{'u', "", "&$"},     // DECRQUPSS, DECRQTSR
	{'S', "?", ""},      // graphics attributes
	{'y', "", "*#"},     // DECRQCRA, checksums
	{'w', "", "$"},      // DECRQPSR
	{'m', "?", ""},      // XTQMODKEYS
	{'g', "?", ""},      // XTQFMTKEYS
	{'R', "", "#"},      // XTREPORTCOLORS
	{'|', "", "#'"},     // XTREPORTSGR, DECRQLP
	{'z', "", "'"},      // DECELR: a locator reports by itself
	{'{', "", "'"},      // DECSLE, likewise
}

// sequenceAsks takes what stands behind CSI, with the final byte. Control characters in between mean
// nothing: the terminal does them in passing.
func sequenceAsks(s []byte) bool {
	var private, inter byte
	for _, b := range s[:len(s)-1] {
		switch {
		case b >= 0x20 && b < 0x30:
			inter = b
		case b >= 0x30 && private == 0:
			private = b
		}
	}
	for _, a := range askers {
		if a.final == s[len(s)-1] && (a.private == "" || strings.IndexByte(a.private, private) >= 0) && a.allows(inter) {
			return true
		}
	}
	return false
}

// reportModes are the private modes under which a terminal reports unasked what the worker reports: dark or light,
// and sizes. Two reports would be one too many, and the pane's size need not be that of the user's terminal.
var reportModes = [][]byte{[]byte("2031"), []byte("2048")}

// withoutReports takes what stands behind CSI, with the final byte, and returns the modes that are left of a
// DECSET when those that report are taken out. It is false when there are none of those.
func withoutReports(s []byte) (modes []byte, ok bool) {
	last := len(s) - 1
	if s[last] != 'h' || s[0] != '?' {
		return nil, false
	}
	for mode := range bytes.SplitSeq(s[1:last], []byte{';'}) {
		if reports(mode) {
			ok = true
			continue
		}
		if len(modes) > 0 {
			modes = append(modes, ';')
		}
		modes = append(modes, mode...)
	}
	return modes, ok
}

// reports takes a mode as it is written, with the controls that the terminal does in passing.
func reports(mode []byte) bool {
	number, _, _ := bytes.Cut(mode, []byte{':'})
	number = bytes.TrimLeft(bytes.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, number), "0")
	return slices.ContainsFunc(reportModes, func(m []byte) bool { return bytes.Equal(m, number) })
}

func (a asker) allows(inter byte) bool {
	switch {
	case a.inter == anything:
		return true
	case inter == 0:
		return a.inter == ""
	}
	return strings.IndexByte(a.inter, inter) >= 0
}

// verdict on a string that is not whole yet.
type verdict uint8

const (
	open     verdict = iota // not known yet
	harmless                // no terminal answers it
	asking                  // some do
)

// content are the OSC commands whose text is for people, links and shells, so that a ? in it asks nothing.
var content = []string{"0", "1", "2", "7", "8", "9", "133", "633", "777", "3008"}

// stringAsks judges a string of a kind by its beginning; whole says that nothing follows.
func stringAsks(kind byte, s []byte, whole bool) verdict {
	if kind == 'P' {
		return controlStringAsks(s)
	}
	number, rest, cut := strings.Cut(string(s), ";")
	switch {
	case !cut && !whole:
		return open
	case slices.Contains(content, number):
		return harmless
	case number == "52":
		return clipboardAsks(rest, whole)
	case number == "99":
		meta, _, cut := strings.Cut(rest, ";")
		return judge(strings.Contains(meta, "?"), cut || whole)
	case number == "1337":
		asks := strings.HasPrefix(rest, "Report") || strings.HasPrefix(rest, "Request")
		return judge(asks, whole || len(rest) >= len("Request"))
	case number == "5522": // the whole of it is a conversation
		return asking
	}
	return judge(strings.Contains(rest, "?"), whole)
}

func judge(asks, decided bool) verdict {
	switch {
	case asks:
		return asking
	case decided:
		return harmless
	}
	return open
}

// clipboardAsks lets the clipboard be written, which may be long, and not be read.
func clipboardAsks(s string, whole bool) verdict {
	_, value, cut := strings.Cut(s, ";")
	return judge(strings.HasPrefix(value, "?"), whole || cut && value != "")
}

// controlStringAsks judges a DCS by its introduction: DECRQSS ($q) and XTGETTCAP (+q) ask.
func controlStringAsks(s []byte) verdict {
	i := bytes.IndexFunc(s, func(r rune) bool { return r >= 0x40 })
	if i < 0 {
		return open
	}
	return judge(s[i] == 'q' && bytes.ContainsAny(s[:i], "$+"), true)
}
