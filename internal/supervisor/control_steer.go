// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"strconv"

	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/verbs"
)

func (s verbServer) RequestControl(_ context.Context, p verbs.ControlParams) (verbs.Empty, error) {
	return s.steer(control.OpRequest, p)
}

func (s verbServer) GrantControl(_ context.Context, p verbs.ControlParams) (verbs.Empty, error) {
	return s.steer(control.OpGrant, p)
}

func (s verbServer) ReleaseControl(_ context.Context, p verbs.ControlParams) (verbs.Empty, error) {
	return s.steer(control.OpRelease, p)
}

func (s verbServer) TakeControl(_ context.Context, p verbs.ControlParams) (verbs.Empty, error) {
	return s.steer(control.OpTake, p)
}

// steer acts for a viewer, whatever it came by: a page or an attachment.
func (s verbServer) steer(op control.Op, p verbs.ControlParams) (verbs.Empty, error) {
	number, err := strconv.ParseUint(p.Viewer, 10, 64)
	if err != nil { // no number that was ever given out is as large
		return verbs.Empty{}, verbError(control.ErrNotJoined)
	}
	return verbs.Empty{}, verbError(s.panes.Steer(p.Pane, op, control.ViewerID(number)))
}
