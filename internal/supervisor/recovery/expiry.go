// SPDX-License-Identifier: Apache-2.0

package recovery

// Expiry is a function of a moment that the caller gives. A clock that went backwards never makes
// anything younger: what was saved in the future is not shown.

// textAlive tells whether a saved text may still be read. It may not once the earlier of its own expiry
// and its age by the present policy has come, before it was saved, or when the policy keeps no text.
func textAlive(t Text, now Millis, p Policy) bool {
	return t.Availability == TextPlain && p.KeepsText() &&
		now >= t.SavedAt && now < t.ExpiresAt && now < t.SavedAt.Plus(p.TextMaxAge)
}

// Expire returns c without the text that may no longer be read at now, which becomes expired.
func Expire(c Checkpoint, now Millis, p Policy) Checkpoint {
	panes := make([]Pane, len(c.Panes))
	copy(panes, c.Panes)
	for i := range panes {
		if panes[i].Text.Availability == TextPlain && !textAlive(panes[i].Text, now, p) {
			panes[i].Text = Text{Availability: TextExpired}
		}
	}
	c.Panes = panes
	return c
}

// age tells what a checkpoint's time of capture makes of it: StatusValid, StatusExpired, or StatusFuture
// until the clock catches up.
func age(capturedAt, now Millis, p Policy) Status {
	switch {
	case capturedAt > now:
		return StatusFuture
	case now >= capturedAt.Plus(p.MaxAge):
		return StatusExpired
	}
	return StatusValid
}
