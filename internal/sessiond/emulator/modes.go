// SPDX-License-Identifier: Apache-2.0

package emulator

// Modes are the settings of a Terminal that are on or off or one of a few.
// The zero value differs from a new terminal's in AutoWrap alone.
type Modes struct {
	Insert   bool // ANSI 4
	LineFeed bool // ANSI 20: LF implies CR

	CursorKeys     bool // ?1
	Origin         bool // ?6
	AutoWrap       bool // ?7
	CursorBlink    bool // ?12
	CursorHidden   bool // ?25, inverted
	ReverseWrap    bool // ?45
	Keypad         bool // ?66, ESC =
	FocusEvents    bool // ?1004
	BracketedPaste bool // ?2004
	Synchronized   bool // ?2026
	ThemeReports   bool // ?2031: dark and light are told when they change
	SizeReports    bool // ?2048: each new size is told

	// Mouse is the protocol: 0, 9, 1000, 1002 or 1003.
	Mouse uint16
	// MouseEncoding is 0, 1006 or 1016.
	MouseEncoding uint16
	// CursorStyle is the parameter of DECSCUSR, 0 for the viewer's own.
	CursorStyle uint8
}

// softReset resets what DECSTR and RIS both reset.
func (m *Modes) softReset() {
	*m = Modes{
		AutoWrap: true,
		LineFeed: m.LineFeed, CursorBlink: m.CursorBlink, CursorHidden: m.CursorHidden,
		Mouse: m.Mouse, MouseEncoding: m.MouseEncoding,
	}
}

func (m *Modes) fullReset() {
	m.softReset()
	m.Mouse, m.MouseEncoding = 0, 0
}

// flag returns the switch of a private mode, nil for one that is no plain
// switch.
func (m *Modes) flag(mode int) *bool {
	switch mode {
	case 1:
		return &m.CursorKeys
	case 7:
		return &m.AutoWrap
	case 12:
		return &m.CursorBlink
	case 45:
		return &m.ReverseWrap
	case 66:
		return &m.Keypad
	case 1004:
		return &m.FocusEvents
	case 2004:
		return &m.BracketedPaste
	case 2026:
		return &m.Synchronized
	case 2031:
		return &m.ThemeReports
	case modeSizeReports:
		return &m.SizeReports
	}
	return nil
}

// modeSizeReports is the one plain switch that is answered when it is set.
const modeSizeReports = 2048

// quietly reports whether sub-parameters ask to set a mode and tell nobody. No
// program has a reason to send them, and no other terminal takes them: a repaint
// sets the mode so, because a replay must not be answered.
func quietly(subs []int32) bool { return len(subs) > 0 && subs[0] == 1 }

// setModes is SM and RM.
func (t *Terminal) setModes(p *params, on bool) {
	for i := range p.n {
		switch p.v[i] {
		case 4:
			t.modes.Insert = on
		case 20:
			t.modes.LineFeed = on
		}
	}
}

// setPrivateModes is DECSET and DECRST.
func (t *Terminal) setPrivateModes(p *params, on bool) {
	for i := range p.n {
		mode := int(p.v[i])
		if f := t.modes.flag(mode); f != nil {
			*f = on
			if mode == modeSizeReports && on && !quietly(p.subs(i)) {
				t.reportSizeInBand()
			}
			continue
		}
		t.setPrivateMode(mode, on)
	}
}

func (t *Terminal) setPrivateMode(mode int, on bool) {
	switch mode {
	case 2:
		if on {
			for level := range t.charset.g {
				t.charset.designate(level, charsetASCII)
			}
		}
	case 6:
		t.modes.Origin = on
		t.moveTo(0, 0)
	case 9, 1000, 1002, 1003:
		t.modes.Mouse = valueIf(on, mode)
	case 25:
		t.modes.CursorHidden = !on
	case 1006, 1016:
		t.modes.MouseEncoding = valueIf(on, mode)
	case 47, 1047, 1048, 1049:
		t.screenMode(mode, on)
	}
}

func valueIf(on bool, v int) uint16 {
	if on {
		return uint16(v)
	}
	return 0
}

// screenMode carries out the modes around the alternate screen. 1049 saves the
// cursor before it enters and restores it after it left, on whichever screen
// that is.
func (t *Terminal) screenMode(mode int, on bool) {
	if on && mode >= 1048 {
		t.saveCursor()
	}
	if mode != 1048 {
		if on {
			t.switchTo(&t.alternate)
		} else {
			t.switchTo(&t.primary)
		}
	}
	if !on && mode >= 1048 {
		t.restoreCursor()
	}
}

// The cursor styles of DECSCUSR: 0 the viewer's own, 1 and 2 a block, 3 and 4
// an underline, 5 and 6 a bar, the odd ones blinking. All larger numbers change
// the blinking alone; 7 and 8 stand for them where no shape was set.
const (
	cursorStyleMax   = 6
	cursorSteadyOnly = 8
)

// setCursorStyle is DECSCUSR.
func (t *Terminal) setCursorStyle(n int) {
	style := &t.modes.CursorStyle
	odd := uint8(n & 1)
	switch {
	case n <= cursorStyleMax:
		*style = uint8(n)
	case *style == 0 || *style > cursorStyleMax:
		*style = cursorSteadyOnly - odd
	default:
		*style = (*style+1)/2*2 - odd
	}
}
