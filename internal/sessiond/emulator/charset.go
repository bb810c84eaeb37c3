// SPDX-License-Identifier: Apache-2.0

package emulator

// charsetASCII is the final byte of the set that maps nothing.
const charsetASCII = 'B'

// charsets are the four designated sets, the one that is shifted in, and the
// mapping in force. DECRC sets the mapping alone, so it can differ from
// g[level] until the next shift or designation.
type charsets struct {
	g      [4]byte
	level  int
	active byte
}

func (c *charsets) reset() {
	*c = charsets{g: [4]byte{charsetASCII, charsetASCII, charsetASCII, charsetASCII}, active: charsetASCII}
}

// invoke shifts a set in.
func (c *charsets) invoke(level int) {
	c.level = level
	c.active = c.g[level]
}

// designate names the set of a level.
func (c *charsets) designate(level int, final byte) {
	c.g[level] = final
	if c.level == level {
		c.active = final
	}
}

// detached reports whether the mapping is one that only DECRC brought about.
func (c *charsets) detached() bool { return c.active != c.g[c.level] }

// charsetLevel returns the level that an intermediate byte designates, -1 for
// the one that designates nothing.
func charsetLevel(intermediate byte) int {
	switch intermediate {
	case '(':
		return 0
	case ')', '-':
		return 1
	case '*', '.':
		return 2
	case '+':
		return 3
	}
	return -1
}

// charsetMap replaces the bytes below 0x80; 0 leaves one as it is.
type charsetMap [128]rune

// charsetMaps has an entry for each final byte that is known; nil maps nothing.
var charsetMaps = buildCharsets()

func buildCharsets() (m [128]*charsetMap) {
	ascii := &charsetMap{}
	m[charsetASCII] = ascii
	for _, set := range []struct{ finals, from, to string }{
		{"0", "`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"},
		{"A", "#", "£"},
		{"4", `#@[\]{|}~`, "£¾i½|¨f¼´"},
		{"C5", "[\\]^`{|}~", "ÄÖÅÜéäöåü"},
		{"R", `#@[\]{|}~`, "£à°ç§éùè¨"},
		{"Q", "@[\\]^`{|}~", "àâçêîôéùèû"},
		{"K", `@[\]{|}~`, "§ÄÖÜäöüß"},
		{"Y", "#@[\\]`{|}~", "£§°çéùàòèì"},
		{"E6", "@[\\]^`{|}~", "ÄÆØÅÜäæøåü"},
		{"Z", `#@[\]{|}`, "£§¡Ñ¿°ñç"},
		{"H7", "@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"},
		{"=", "#@[\\]^_`{|}~", "ùàéçêîèôäöüû"},
	} {
		table := &charsetMap{}
		to := []rune(set.to)
		for i := range len(set.from) {
			table[set.from[i]] = to[i]
		}
		for i := range len(set.finals) {
			m[set.finals[i]] = table
		}
	}
	return m
}

func knownCharset(final byte) bool { return final < 128 && charsetMaps[final] != nil }

// mapped returns what the mapping in force makes of a code point.
func (c *charsets) mapped(r rune) rune {
	if r < 127 && c.active != charsetASCII {
		if m := charsetMaps[c.active][r]; m != 0 {
			return m
		}
	}
	return r
}

// source returns a code point that the mapping in force turns into r.
func (c *charsets) source(r rune) (rune, bool) {
	if c.mapped(r) == r {
		return r, true
	}
	for from, to := range charsetMaps[c.active] {
		if to == r {
			return rune(from), true
		}
	}
	return 0, false
}
