// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"math/rand/v2"
	"testing"
)

// Every style has one number, whatever the table grew by, and every part of a style tells it from others.
func TestEachStyleHasOneNumber(t *testing.T) {
	var table styleTable
	table.reset()
	numbers := map[style]uint32{{}: 0}
	one := func(s style) {
		id := table.intern(s)
		if had, known := numbers[s]; known && had != id {
			t.Fatalf("%+v was %d and is %d", s, had, id)
		}
		numbers[s] = id
		if table.list[id] != s {
			t.Fatalf("%d is %+v, want %+v", id, table.list[id], s)
		}
	}
	// The ends of what each part can be, alone.
	for _, s := range []style{
		{fg: colorBasic}, {fg: colorRGB | 0xffffff}, {bg: colorBasic}, {bg: colorRGB | 0xffffff}, {ul: colorBasic, underline: 1},
		{ul: colorRGB | 0xffffff, underline: 1}, {attrs: attrBold}, {attrs: attrProtected}, {underline: 1}, {underline: 5}, {link: 1}, {link: 1<<32 - 1},
	} {
		one(s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		s := style{
			fg: color(r.IntN(1 << 26)), bg: color(r.IntN(4)), attrs: uint16(r.IntN(int(attrProtected) << 1)),
			underline: uint8(r.IntN(6)), link: uint32(r.IntN(3)),
		}
		if s.underline != 0 {
			s.ul = color(r.IntN(1 << 26))
		}
		one(s)
	}
	for s := range numbers {
		one(s)
	}
	if len(table.list) != len(numbers) {
		t.Errorf("%d numbers for %d styles", len(table.list), len(numbers))
	}
	if 2*len(table.list) > len(table.slots) {
		t.Errorf("%d of %d slots are taken", len(table.list)-1, len(table.slots))
	}
}

// However styles follow each other, a look at two slots finds one, on average.
func TestRowsOfStylesDoNotCrowd(t *testing.T) {
	const styles, probesMax = 4096, 2
	for name, nth := range map[string]func(i int) style{
		"foregrounds": func(i int) style { return style{fg: colorRGB | color(i)} },
		"backgrounds": func(i int) style { return style{bg: colorRGB | color(i)} },
		"greys":       func(i int) style { return style{fg: colorRGB | color(i&0xff)*0x010101, bg: colorIndexed | color(i>>8)} },
		"both of 256": func(i int) style { return style{fg: colorIndexed | color(i&0xff), bg: colorIndexed | color(i>>8)} },
		"attributes":  func(i int) style { return style{fg: color(i >> 9), attrs: uint16(i & 0x1ff)} },
		"underlines":  func(i int) style { return style{underline: 1, ul: colorRGB | color(i)} },
		"links":       func(i int) style { return style{link: uint32(i)} },
	} {
		var table styleTable
		table.reset()
		for i := 1; i <= styles; i++ {
			table.intern(nth(i))
		}
		probes, mask := uint64(0), uint64(len(table.slots)-1)
		for _, key := range table.keys[1:] {
			_, slot := table.find(key)
			probes += 1 + (slot-key.hash())&mask
		}
		if probes > probesMax*styles {
			t.Errorf("%s: %d slots are looked at to find %d", name, probes, styles)
		}
	}
}
