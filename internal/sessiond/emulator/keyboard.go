// SPDX-License-Identifier: Apache-2.0

package emulator

// keyboard is the kitty keyboard protocol of one screen: the flags in force,
// and those below that a program pushed over. The viewer doesn't encode keys
// so, and nobody who asks is told otherwise; it is kept because it costs
// nothing there and a viewer that does will need it. See
// sw.kovidgoyal.net/kitty/keyboard-protocol.
type keyboard struct {
	flags [keyboardDepthMax]uint8
	top   int // the one in force
}

// keyboardFlags are the flags that the protocol knows.
const keyboardFlags = 1<<5 - 1

// push puts flags over the others. The oldest ones fall out when it is full.
func (k *keyboard) push(flags int) {
	if k.top == len(k.flags)-1 {
		copy(k.flags[:], k.flags[1:])
	} else {
		k.top++
	}
	k.flags[k.top] = uint8(flags & keyboardFlags)
}

// pop takes n flags away. Beyond the last there is none.
func (k *keyboard) pop(n int) {
	if n > k.top {
		*k = keyboard{}
		return
	}
	clear(k.flags[k.top-n+1:])
	k.top -= n
}

// set changes the flags in force: to these for how 1, by adding them for 2 and
// by taking them away for 3.
func (k *keyboard) set(flags, how int) {
	f, now := uint8(flags&keyboardFlags), &k.flags[k.top]
	switch how {
	case 1:
		*now = f
	case 2:
		*now |= f
	case 3:
		*now &^= f
	}
}
