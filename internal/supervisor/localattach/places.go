// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spawn/internal/supervisor/verbs"
)

// Places is what the user walks among. Its methods are called one at a time.
type Places interface {
	// Map tells where the panes are now.
	Map(ctx context.Context) (Map, error)
	// New starts a terminal in a new window, and returns its pane. An empty session is the first one.
	New(ctx context.Context, session string, cols, rows uint16) (string, error)
	// Turned says that the user has turned to a pane.
	Turned(ctx context.Context, pane string) error
}

// Map is the arrangement at one instant.
type Map struct {
	Windows []verbs.Window // by session
	Panes   []verbs.Pane   // by session, by window, by place in the window
}

var (
	errNoOther  = errors.New("there is no other one to go to")
	errNoWindow = errors.New("there is no such window, or nothing runs in it")
)

// command is a key behind the prefix.
type command byte

const (
	detach      command = 'd'
	nextWindow  command = 'n'
	prevWindow  command = 'p'
	prevSession command = '('
	nextSession command = ')'
	nextPane    command = 'o'
	openWindow  command = 'c'
	help        command = '?'
)

// walks are all commands but detach, which may be on another key.
const walks = "np0123456789()oc?"

// stand is where the user is.
type stand struct {
	pane    string
	session string            // known even when the pane is gone from the map
	last    map[string]string // the pane that was left last, by session
}

// find returns the pane that a command leads to. openWindow and help lead nowhere.
func (m Map) find(c command, from stand) (string, error) {
	at := m.window(from.pane)
	switch c {
	case nextWindow:
		return m.beside(m.windowsOf(from.session), at, 1)
	case prevWindow:
		return m.beside(m.windowsOf(from.session), at, -1)
	case nextSession:
		return m.otherSession(from, 1)
	case prevSession:
		return m.otherSession(from, -1)
	case nextPane:
		return after(m.running(at), from.pane)
	}
	windows := m.windowsOf(from.session)
	if i := int(c - '0'); i < len(windows) {
		if pane := m.enter(windows[i]); pane != "" {
			return pane, nil
		}
	}
	return "", errNoWindow
}

// onward is the pane to go to when the one that the user was in has ended: the next in its session.
func (m Map) onward(from stand) (string, error) {
	var all []string
	for _, w := range m.windowsOf(from.session) {
		for _, p := range m.Panes { // the one that has ended is there for its place alone
			if p.Window == w.Window && (p.State == verbs.PaneRunning || p.ID == from.pane) {
				all = append(all, p.ID)
			}
		}
	}
	return after(all, from.pane)
}

// entrance is the pane that an id leads to: of a window or a session the one that it is entered by.
func (m Map) entrance(id string) (string, error) {
	code, pane, known := verbs.CodeNoWindow, "", false
	switch id[:min(1, len(id))] {
	case "w":
		for _, w := range m.Windows {
			if w.Window == id {
				pane, known = m.enter(w), true
			}
		}
	case "s":
		code, known, pane = verbs.CodeNoSession, len(m.windowsOf(id)) > 0, m.come(id, "")
	default:
		return id, nil
	}
	switch {
	case !known:
		return "", verbs.Errorf(code, "there is no %s, or no window in it", id)
	case pane == "":
		return "", verbs.Errorf(verbs.CodeEnded, "nothing runs in %s", id)
	}
	return pane, nil
}

// latest is the running pane that was used last, the newest one of several; "" when none runs.
func (m Map) latest() string {
	var best verbs.Pane
	for _, p := range m.Panes {
		newer := len(p.ID) > len(best.ID) || len(p.ID) == len(best.ID) && p.ID > best.ID
		if p.State == verbs.PaneRunning && (p.UsedAt > best.UsedAt || p.UsedAt == best.UsedAt && newer) {
			best = p
		}
	}
	return best.ID
}

// session is the one that the pane is in; "" for one that is gone.
func (m Map) session(pane string) string {
	for _, p := range m.Panes {
		if p.ID == pane {
			return p.Session
		}
	}
	return ""
}

func (m Map) window(pane string) string {
	for _, p := range m.Panes {
		if p.ID == pane {
			return p.Window
		}
	}
	return ""
}

func (m Map) windowsOf(session string) []verbs.Window {
	return slices.DeleteFunc(slices.Clone(m.Windows), func(w verbs.Window) bool { return w.Session != session })
}

// running lists the panes of a window in which something runs.
func (m Map) running(window string) []string {
	var out []string
	for _, p := range m.Panes {
		if p.Window == window && p.State == verbs.PaneRunning {
			out = append(out, p.ID)
		}
	}
	return out
}

// enter is the pane that a window is entered by: its active one, or the first that runs; "" for none.
func (m Map) enter(w verbs.Window) string {
	panes := m.running(w.Window)
	switch {
	case slices.Contains(panes, w.Active):
		return w.Active
	case len(panes) > 0:
		return panes[0]
	}
	return ""
}

// beside goes from a window to the next, or the one before, that can be entered.
func (m Map) beside(windows []verbs.Window, at string, step int) (string, error) {
	i := slices.IndexFunc(windows, func(w verbs.Window) bool { return w.Window == at })
	for range windows {
		i = (i + step + len(windows)) % len(windows)
		if pane := m.enter(windows[i]); pane != "" && windows[i].Window != at {
			return pane, nil
		}
	}
	return "", errNoOther
}

// otherSession goes to the next session, or the one before, in which something runs: to the pane that was left
// last there, or else to the first window.
func (m Map) otherSession(from stand, step int) (string, error) {
	var sessions []string
	for _, w := range m.Windows {
		if !slices.Contains(sessions, w.Session) {
			sessions = append(sessions, w.Session)
		}
	}
	i := slices.Index(sessions, from.session)
	for range sessions {
		i = (i + step + len(sessions)) % len(sessions)
		if pane := m.come(sessions[i], from.last[sessions[i]]); pane != "" && sessions[i] != from.session {
			return pane, nil
		}
	}
	return "", errNoOther
}

func (m Map) come(session, last string) string {
	for _, p := range m.Panes {
		if p.ID == last && p.Session == session && p.State == verbs.PaneRunning {
			return last
		}
	}
	for _, w := range m.windowsOf(session) {
		if pane := m.enter(w); pane != "" {
			return pane
		}
	}
	return ""
}

// after is the next of a ring; the first when the place is in none.
func after(ring []string, place string) (string, error) {
	if len(ring) == 0 || len(ring) == 1 && ring[0] == place {
		return "", errNoOther
	}
	return ring[(slices.Index(ring, place)+1)%len(ring)], nil
}

// helpLine is what there is behind the prefix.
func helpLine(k Keys) string {
	return fmt.Sprintf("%s then: %c detach  n p 0-9 window  ( ) session  o pane  c new window", k.prefix(), rune(k.detaches()))
}
