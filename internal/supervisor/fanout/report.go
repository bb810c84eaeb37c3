// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
)

// activeEvery is the least time between two reports of output: whoever reports further tells it no more often.
const activeEvery = time.Second

// Report is something that happened to the terminal or its viewers, for who watches without being one. The
// concrete types are those below.
type Report interface{ report() }

type (
	// Noticed is what the program did besides writing. Its text is any: to be made clean.
	Noticed struct{ wire.Notice }
	// Active means that there was output.
	Active struct{}
	// Joined means that there is one more viewer, and Left that there is one less.
	Joined struct {
		Viewer   control.ViewerID
		Name     string // any text
		ReadOnly bool
	}
	Left struct{ Viewer control.ViewerID }
	// Steered means that the pane has another controller, or none.
	Steered struct {
		Generation control.Generation
		Controller control.ViewerID // zero when the pane is free
		Name       string           // of that viewer: any text
	}
)

func (Noticed) report() {}
func (Active) report()  {}
func (Joined) report()  {}
func (Left) report()    {}
func (Steered) report() {}

func (h *Hub) report(r Report) {
	if h.o.Report != nil {
		h.o.Report(r)
	}
}

// activeLocked reports output, though not each piece of it.
func (h *Hub) activeLocked() {
	if h.o.Report == nil {
		return
	}
	if now := time.Now(); now.Sub(h.mu.active) >= activeEvery {
		h.mu.active = now
		h.report(Active{})
	}
}
