// SPDX-License-Identifier: Apache-2.0

package emulator

// cell is one column of a row:
//
//	bits  0–20  code point, or number of a cluster; 0 = erased, never printed
//	bit  21     the number is a cluster's
//	bits 22–23  class
//	bits 32–63  style id
//
// The zero cell is an erased one in the default style.
type cell uint64

const (
	runeMask    cell = 1<<21 - 1
	clusterFlag cell = 1 << 21
	contentMask cell = runeMask | clusterFlag
	classMask   cell = 3 << 22
	styleShift       = 32
)

// The classes of a cell.
const (
	classNarrow cell = 0 << 22 // one column
	classHead   cell = 1 << 22 // the left half of a wide character
	classTail   cell = 2 << 22 // its right half, without content
	classMark   cell = 3 << 22 // a zero-width character that had nothing to join
)

func (c cell) class() cell   { return c & classMask }
func (c cell) style() uint32 { return uint32(c >> styleShift) }
func (c cell) blank() bool   { return c&(contentMask|classMask) == 0 }
func (c cell) printed() bool { return c&contentMask != 0 }

// styled returns an erased cell in a style.
func styled(id uint32) cell { return cell(id) << styleShift }

// row is one line of a screen.
type row struct {
	// cells has one entry a column.
	cells []cell
	// used counts the leading cells that may be non-zero: all others are.
	used int
	// wrapped says that the row continues the one above it.
	wrapped bool
	prompt  promptMarks
	// typed is what history says of the first typedCols columns, kept as it came
	// as long as it was printed from left to right: the text, and an SGR where the
	// style changes. It ends in typedStyle. typedCols is -1 when something else
	// happened since the row was last blank, or when there was no room.
	typedStyle uint32
	typed      []byte
	typedCols  int
}

// typedBytes is how much a row keeps for each column. It covers what people
// write and some colours; history spells a row with more out of its cells.
const typedBytes = 2

// restyles reports whether what is printed at a column goes on with what was
// typed, in another style.
func (r *row) restyles(x int, base cell) bool {
	return r.typedCols == x && r.typedStyle != base.style()
}

// note records that text was printed into the columns [from, to), after its
// style.
func (r *row) note(text []byte, from, to int) {
	if r.typedCols != from || len(r.typed)+len(text) > cap(r.typed) {
		r.typedCols = -1
		return
	}
	r.typed = append(r.typed, text...)
	r.typedCols = to
}

// noteStyle records that what is typed from column x on has another style, if an
// SGR alone says so.
func (t *Terminal) noteStyle(r *row, x int, id uint32) {
	r.typedCols = -1
	if !t.styles.plainChange(r.typedStyle, id) {
		return
	}
	if sgr := t.styles.sgr(id); len(r.typed)+len(sgr) <= cap(r.typed) {
		r.typed, r.typedCols, r.typedStyle = append(r.typed, sgr...), x, id
	}
}

// forgetTyped makes a row that is blank one on which nothing was typed. What was, also if it is void, is wiped.
func (r *row) forgetTyped() {
	clear(r.typed)
	r.typed, r.typedCols, r.typedStyle = r.typed[:0], 0, 0
}

// clear makes the row blank in a style.
func (r *row) clear(fill cell) {
	r.wrapped, r.prompt = false, 0
	r.forgetTyped()
	if fill != 0 {
		r.fill(0, len(r.cells), fill)
		return
	}
	clear(r.cells[:r.used])
	r.used = 0
}

// set writes one cell.
func (r *row) set(x int, c cell) {
	r.cells[x] = c
	r.typedCols = -1
	if x >= r.used && c != 0 {
		r.used = x + 1
	}
}

// fill writes c into the columns [start, end).
func (r *row) fill(start, end int, c cell) {
	if c != 0 {
		r.typedCols = -1
		for i := range r.cells[start:end] {
			r.cells[start+i] = c
		}
		r.used = max(r.used, end)
		return
	}
	if start >= r.used {
		return
	}
	clear(r.cells[start:min(end, r.used)])
	r.typedCols = -1
	if end >= r.used {
		r.used = start
	}
	if r.used == 0 {
		r.forgetTyped()
	}
}

// class returns the class of a column, classNarrow outside the row.
func (r *row) class(x int) cell {
	if x < 0 || x >= len(r.cells) {
		return classNarrow
	}
	return r.cells[x].class()
}

// contentLen returns the number of columns up to the last printed character.
func (r *row) contentLen() int {
	for x := r.used - 1; x >= 0; x-- {
		if c := r.cells[x]; c.printed() {
			if c.class() == classHead && r.class(x+1) == classTail {
				return x + 2
			}
			return x + 1
		}
	}
	return 0
}

// bare reports whether the row shows no character.
func (r *row) bare() bool {
	for _, c := range r.cells[:r.used] {
		if c.printed() && c&contentMask != ' ' {
			return false
		}
	}
	return true
}

// uniform reports whether all cells are c.
func (r *row) uniform(c cell) bool {
	for _, d := range r.cells {
		if d != c {
			return false
		}
	}
	return true
}

// replace erases the columns [start, end) and heals the wide characters that
// the edges cut. With keep it spares protected cells.
func (t *Terminal) replace(r *row, start, end int, fill cell, keep bool) {
	end = min(end, len(r.cells))
	if start > 0 && start <= len(r.cells) && r.class(start-1) == classHead && !(keep && t.protected(r.cells[start-1])) {
		r.set(start-1, fill)
	}
	if end > 0 && end < len(r.cells) && r.class(end-1) == classHead && !(keep && t.protected(r.cells[end])) {
		r.set(end, fill)
	}
	if start >= end {
		return
	}
	if !keep {
		r.fill(start, end, fill)
		return
	}
	for x := start; x < end; x++ {
		if !t.protected(r.cells[x]) {
			r.set(x, fill)
		}
	}
}

// insert shifts the columns from x on to the right by n and fills the gap.
// What a wide character loses by it becomes erased.
func (t *Terminal) insert(r *row, x, n int, fill cell) {
	if r.class(x-1) == classHead {
		r.set(x-1, fill)
	}
	width := len(r.cells)
	if r.class(x) == classTail {
		look := t.styles.list[r.cells[x].style()]
		r.set(x, styled(t.styles.intern(look.onBlank())))
	}
	n = min(n, width-x)
	if n > 0 && x < r.used {
		copy(r.cells[x+n:], r.cells[x:])
		r.used = min(width, r.used+n)
		r.typedCols = -1
	}
	r.fill(x, x+n, fill)
	if r.class(width-1) == classHead {
		r.set(width-1, fill)
	}
}

// remove shifts the columns right of x+n to x and fills the end.
func (t *Terminal) remove(r *row, x, n int, fill cell) {
	t.mend(r, fill)
	width := len(r.cells)
	n = min(n, width-x)
	if x+n < r.used {
		copy(r.cells[x:r.used], r.cells[x+n:r.used])
	}
	r.fill(max(x, r.used-n), width, 0)
	r.typedCols = -1
	r.fill(width-n, width, fill)
	if r.class(x-1) == classHead {
		r.set(x-1, fill)
	}
	if r.class(x) == classTail {
		r.set(x, fill)
	}
}
