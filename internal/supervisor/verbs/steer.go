// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Steering is what the verbs of control act on. A viewer is named by its id, whatever it came by.
type Steering interface {
	RequestControl(ctx context.Context, p ControlParams) (Empty, error)
	GrantControl(ctx context.Context, p ControlParams) (Empty, error)
	ReleaseControl(ctx context.Context, p ControlParams) (Empty, error)
	TakeControl(ctx context.Context, p ControlParams) (Empty, error)
}

// Names of the verbs of control.
const (
	ControlRequest = "control.request"
	ControlGrant   = "control.grant"
	ControlRelease = "control.release"
	ControlTake    = "control.take"
)

// ControlParams name a viewer of a pane.
type ControlParams struct {
	Pane   string `json:"pane" like:"pane" help:"id of the pane"`
	Viewer string `json:"viewer" like:"viewer" help:"id of the viewer that asks, is given control, gives it up, or takes it"`
}

func (p ControlParams) on() Resource { return onPane(p.Pane) }

var steerVerbs = []Verb{
	steer(ControlRequest, "ask the controller of a pane for control", Steering.RequestControl, CodeRequested),
	steer(ControlGrant, "give control to the viewer that asks for it", Steering.GrantControl, CodeNoRequest, CodeNotController),
	steer(ControlRelease, "give control up, or take a request back", Steering.ReleaseControl, CodeNotController),
	steer(ControlTake, "let a viewer control a pane at once, whoever does now", Steering.TakeControl),
}

func steer(name, summary string, do func(Steering, context.Context, ControlParams) (Empty, error), more ...Code) Verb {
	return row[ControlParams, Empty]{
		Name: name, Summary: summary, Right: RightWrite, Types: true,
		Errors: append([]Code{CodeNoPane, CodeNoViewer, CodeEnded, CodeReadOnly}, more...), Example: ControlParams{"p0", "3"},
		Do: via(do),
	}.verb()
}
