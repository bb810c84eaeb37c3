// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"encoding/base64"
	"strings"
)

// kittyNotification gathers what kitty's notifications (OSC 99) bring in pieces: a title, a body, and with d=0 the
// promise of more. One at a time is enough; the pieces of another one end it untold.
type kittyNotification struct {
	id          string
	title, body string // at most noticeBytesMax each
}

// take reads one piece, and returns the text of a notification that is whole; "" of any other.
func (n *kittyNotification) take(payload string) string {
	head, text, ok := strings.Cut(payload, ";")
	if !ok {
		return ""
	}
	keys := map[string]string{}
	for pair := range strings.SplitSeq(head, ":") {
		key, value, _ := strings.Cut(pair, "=")
		keys[key] = value
	}
	if keys["e"] == "1" {
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil {
			return ""
		}
		text = string(plain)
	}
	if keys["i"] != n.id {
		*n = kittyNotification{id: keys["i"]}
	}
	switch keys["p"] {
	case "", "title":
		n.title = cutText(n.title+text, noticeBytesMax)
	case "body":
		n.body = cutText(n.body+text, noticeBytesMax)
	case "icon", "buttons": // nobody is shown them, but they may be the last piece
	default: // a question, or the end of one that was shown
		return ""
	}
	if keys["d"] == "0" {
		return ""
	}
	whole := *n
	*n = kittyNotification{}
	return whole.text()
}

func (n kittyNotification) text() string {
	if n.title != "" && n.body != "" {
		return n.title + ": " + n.body
	}
	return n.title + n.body
}
