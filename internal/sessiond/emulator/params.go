// SPDX-License-Identifier: Apache-2.0

package emulator

import "strconv"

// params are the numbers of a control sequence. A missing parameter is 0, a
// missing sub-parameter -1.
type params struct {
	v [paramsMax]int32
	n int
	// sub holds the sub-parameters of all parameters in order; those of
	// parameter i are sub[from[i]:to[i]].
	sub      [paramsMax]int32
	subN     int
	from, to [paramsMax]uint8
	// inSub says that digits go to the last sub-parameter.
	inSub bool
	// full and subFull say that digits have nowhere to go.
	full, subFull bool
}

func (p *params) reset() {
	p.n, p.subN = 1, 0
	p.v[0], p.from[0], p.to[0] = 0, 0, 0
	p.inSub, p.full, p.subFull = false, false, false
}

// put interprets one byte of 0–9, ':' and ';'.
func (p *params) put(c byte) {
	switch c {
	case ';':
		p.next()
	case ':':
		p.nextSub()
	default:
		p.digit(int32(c - '0'))
	}
}

func (p *params) next() {
	p.inSub = false
	if p.n == paramsMax {
		p.full = true
		return
	}
	p.v[p.n] = 0
	p.from[p.n], p.to[p.n] = uint8(p.subN), uint8(p.subN)
	p.n++
}

func (p *params) nextSub() {
	p.inSub = true
	if p.full || p.subN == paramsMax {
		p.subFull = true
		return
	}
	p.sub[p.subN] = -1
	p.subN++
	p.to[p.n-1]++
}

func (p *params) digit(d int32) {
	if p.full || p.inSub && p.subFull {
		return
	}
	at := &p.v[p.n-1]
	if p.inSub {
		at = &p.sub[p.subN-1]
	}
	if *at < 0 {
		*at = d
		return
	}
	*at = int32(min(int64(*at)*10+int64(d), paramMax))
}

// at returns parameter i, 0 when it is missing.
func (p *params) at(i int) int {
	if i >= p.n {
		return 0
	}
	return int(p.v[i])
}

// count returns parameter i as a count: 1 when it is 0 or missing.
func (p *params) count(i int) int { return max(p.at(i), 1) }

// subs returns the sub-parameters of parameter i.
func (p *params) subs(i int) []int32 {
	if p.subN == 0 {
		return nil
	}
	return p.sub[p.from[i]:p.to[i]]
}

// append appends the bytes that lead to the same parameters.
func (p *params) append(dst []byte) []byte {
	for i := range p.n {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = strconv.AppendInt(dst, int64(p.v[i]), 10)
		for _, s := range p.subs(i) {
			dst = append(dst, ':')
			if s >= 0 {
				dst = strconv.AppendInt(dst, int64(s), 10)
			}
		}
	}
	if p.full {
		dst = append(dst, ';')
	}
	if p.inSub && p.subFull {
		dst = append(dst, ':')
	}
	return dst
}
