// SPDX-License-Identifier: Apache-2.0

package emulator

// titles are the window title, the icon name and what was pushed of them.
type titles struct {
	window, icon           string
	windowStack, iconStack []string
}

// setTitle sets the window title and tells of a change.
func (t *Terminal) setTitle(s string) {
	s = cutText(s, titleBytesMax)
	if s == t.title.window {
		return
	}
	t.title.window = s
	t.notice(NoticeTitle, s)
}

// pushTitle saves window title and icon name (CSI 22 t): which is 0 for both,
// 1 for the icon name, 2 for the title.
func (t *Terminal) pushTitle(which int) {
	if which == 0 || which == 2 {
		t.title.windowStack = push(t.title.windowStack, t.title.window)
	}
	if which == 0 || which == 1 {
		t.title.iconStack = push(t.title.iconStack, t.title.icon)
	}
}

// popTitle takes back what pushTitle saved (CSI 23 t).
func (t *Terminal) popTitle(which int) {
	if n := len(t.title.windowStack); n > 0 && (which == 0 || which == 2) {
		t.setTitle(t.title.windowStack[n-1])
		t.title.windowStack = t.title.windowStack[:n-1]
	}
	if n := len(t.title.iconStack); n > 0 && (which == 0 || which == 1) {
		t.title.icon = t.title.iconStack[n-1]
		t.title.iconStack = t.title.iconStack[:n-1]
	}
}

// push appends to a stack, whose oldest entry falls out when it is full.
func push(stack []string, s string) []string {
	if len(stack) == titleStackMax {
		copy(stack, stack[1:])
		stack = stack[:titleStackMax-1]
	}
	return append(stack, s)
}
