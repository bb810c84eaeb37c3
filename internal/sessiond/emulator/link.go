// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"strconv"
	"strings"
)

// linkPrefix begins the ids under which a repaint names links that the program
// gave none. A link with such an id is taken for the unnamed one again.
const linkPrefix = "spawn-"

// link is the target of an OSC 8 hyperlink.
type link struct {
	uri    string
	id     string // the program's id, "" when it gave none
	serial uint64 // tells links without id apart
}

// linkTable gives each link a number. Number 0 is no link.
type linkTable struct {
	list   []link
	named  map[link]uint32 // links by uri and id, or by uri and serial
	bytes  int
	serial uint64 // the last one given
}

func (lt *linkTable) reset() {
	lt.list = append(lt.list[:0], link{})
	lt.named = map[link]uint32{}
	lt.bytes = 0
}

// full reports whether another link must be refused.
func (lt *linkTable) full() bool {
	return len(lt.list) > linksMax || lt.bytes > linkBytesMax
}

func (lt *linkTable) add(l link) uint32 {
	if n, ok := lt.named[l]; ok {
		return n
	}
	n := uint32(len(lt.list))
	lt.list = append(lt.list, l)
	lt.named[l] = n
	lt.bytes += len(l.uri) + len(l.id)
	return n
}

// wireID returns the id under which a link is written.
func (l link) wireID() string {
	if l.id != "" {
		return l.id
	}
	return linkPrefix + strconv.FormatUint(l.serial, 10)
}

// parseLink returns the link that an id and a target name.
func (lt *linkTable) parseLink(id, uri string) link {
	if digits, ok := strings.CutPrefix(id, linkPrefix); ok {
		n, err := strconv.ParseUint(digits, 10, 32)
		if err == nil && strconv.FormatUint(n, 10) == digits {
			lt.serial = max(lt.serial, n)
			return link{uri: uri, serial: n}
		}
	}
	if id == "" {
		lt.serial++
		return link{uri: uri, serial: lt.serial}
	}
	return link{uri: uri, id: id}
}

// hyperlink interprets the payload of OSC 8: parameters ; target.
func (t *Terminal) hyperlink(payload string) {
	params, uri, ok := strings.Cut(payload, ";")
	if !ok {
		return
	}
	params = strings.TrimSpace(params)
	if uri == "" {
		if params == "" {
			t.setPenLink(0)
		}
		return
	}
	id := ""
	for field := range strings.SplitSeq(params, ":") {
		if v, ok := strings.CutPrefix(field, "id="); ok {
			id = v
			break
		}
	}
	if len(uri)+len(id) > linkTargetBytesMax {
		t.setPenLink(0)
		return
	}
	if !t.makeLinkRoom() {
		t.setPenLink(0)
		return
	}
	t.setPenLink(t.links.add(t.links.parseLink(id, uri)))
}

func (t *Terminal) setPenLink(n uint32) {
	t.pen.link = n
	t.pen.settle()
	t.pen.fresh = 0
}
