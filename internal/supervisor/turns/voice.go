// SPDX-License-Identifier: Apache-2.0

package turns

// Voice tells the marks of a terminal's shell from those that any program in it can print. The shell that was
// given a nonce puts it into each of its marks. The zero value knows no nonce and believes every mark, as one must
// of a shell whose marks its user has made.
type Voice struct {
	Nonce string // that the shell was given; "" for none
	Heard bool   // a mark with it has come: from then on no other counts
}

// Trusts reports whether a mark counts as the shell's.
func (v *Voice) Trusts(m Mark) bool {
	if v.Nonce != "" && m.Nonce == v.Nonce {
		v.Heard = true
	}
	return !v.Heard || m.Nonce == v.Nonce
}

// Learn takes what another has heard of the same shell.
func (v *Voice) Learn(from Voice) {
	v.Nonce, v.Heard = from.Nonce, v.Heard || from.Heard
}
