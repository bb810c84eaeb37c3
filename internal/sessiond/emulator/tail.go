// SPDX-License-Identifier: Apache-2.0

package emulator

// appendTail appends the bytes that bring a parser from the ground state into
// this one: what the stream holds of a sequence that hasn't ended, without
// what can't matter any more. It is bounded by stringBytesMax and some.
func (p *parser) appendTail(dst []byte) []byte {
	switch p.state {
	case escape, escapeIntermediate:
		dst = append(dst, 0x1b)
		dst = append(dst, p.collect[:p.collectN]...)
	case csiEntry, csiParam, csiIntermediate:
		dst = p.appendIntroduced(dst, '[', csiEntry)
	case csiIgnore:
		dst = append(dst, "\x1b[0<"...)
	case skippedString:
		dst = append(dst, "\x1b_"...)
	case oscString:
		dst = p.osc.appendTail(append(dst, "\x1b]"...))
	case dcsEntry, dcsParam, dcsIntermediate:
		dst = p.appendIntroduced(dst, 'P', dcsEntry)
	case dcsIgnore:
		dst = append(dst, "\x1bP0<"...)
	case dcsPassthrough:
		dst = p.appendPassthrough(dst)
	}
	return append(dst, p.partial[:p.partialN]...)
}

// appendIntroduced appends an introducer with prefix, parameters and
// intermediates.
func (p *parser) appendIntroduced(dst []byte, introducer byte, entry state) []byte {
	dst = append(dst, 0x1b, introducer)
	if p.state == entry {
		return dst
	}
	rest := p.collect[:p.collectN]
	if len(rest) > 0 && rest[0] >= 0x3c {
		dst = append(dst, rest[0])
		rest = rest[1:]
	}
	dst = p.params.append(dst)
	return append(dst, rest...)
}

// appendPassthrough appends the DCS that is known, or one that means nothing.
func (p *parser) appendPassthrough(dst []byte) []byte {
	if !p.known {
		return append(dst, "\x1bP~"...)
	}
	return append(append(dst, "\x1bP$q"...), p.request...)
}
