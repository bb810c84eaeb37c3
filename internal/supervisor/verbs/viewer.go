// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"strconv"

	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

// Viewers is what the verbs of viewers act on.
type Viewers interface {
	// Viewers tells how a pane's viewers stand.
	Viewers(ctx context.Context, id string) (fanout.Stats, error)
}

// Viewer is an attached viewer: what fanout.Viewer has of it here.
type Viewer interface {
	ID() control.ViewerID
	Stream() string
	Resumed() bool
	Input(p []byte) error
	Resize(cols, rows uint16) error
	Snapshot(full bool) error
	Take() error
	Detach()
}

var _ Viewer = (*fanout.Viewer)(nil)

// ViewerList is the name of the verb.
const ViewerList = "viewer.list"

type (
	ViewerListParams struct {
		Pane string `json:"pane" like:"pane" help:"id of the pane"`
	}

	// ViewerListResult has the pane's counters since this spawnd was connected to it.
	ViewerListResult struct {
		Viewers   []Viewing `json:"viewers" help:"who is attached"`
		Snapshots uint64    `json:"snapshots" help:"snapshots that viewers were given"`
		Resumes   uint64    `json:"resumes" help:"viewers that came back and needed no snapshot"`
		Drops     uint64    `json:"drops" help:"times that a viewer was too slow"`
		Bytes     uint64    `json:"bytes" help:"bytes given to viewers"`
	}

	// Viewing is one attached viewer.
	Viewing struct {
		Viewer  string `json:"viewer" like:"viewer" help:"id of the viewer"`
		Name    string `json:"name" help:"name as the viewer calls itself: escape it where you show it"`
		Control bool   `json:"control" help:"its size and keys drive the pane"`
		Resumed bool   `json:"resumed" help:"it came back and needed no snapshot"`
		Drops   uint64 `json:"drops" help:"times that it was too slow"`
		Bytes   uint64 `json:"bytes" help:"bytes given to it"`
		Waiting int    `json:"waiting" help:"bytes that wait for it, snapshots apart"`
		Bound   int    `json:"bound" help:"bytes that may wait, by the pace at which it takes them"`
	}
)

func (p ViewerListParams) on() Resource { return onPane(p.Pane) }

var viewerVerbs = []Verb{
	row[ViewerListParams, ViewerListResult]{
		Name: ViewerList, Summary: "list who is attached to a pane, and how they keep up", Right: RightRead,
		Errors: []Code{CodeNoPane, CodeEnded}, Example: ViewerListParams{"p0"},
		Do: listViewers,
	}.verb(),
}

func listViewers(ctx context.Context, a *ask, p ViewerListParams) (ViewerListResult, error) {
	s, err := a.Viewers(ctx, p.Pane)
	if err != nil {
		return ViewerListResult{}, err
	}
	r := ViewerListResult{Snapshots: s.Snapshots, Resumes: s.Resumes, Drops: s.Drops, Bytes: s.Bytes}
	for _, v := range s.Viewers {
		r.Viewers = append(r.Viewers, Viewing{viewerName(v.ID), v.Name, v.Control, v.Resumed, v.Drops, v.Bytes, v.Waiting, v.Bound})
	}
	return r, nil
}

func viewerName(id control.ViewerID) string { return strconv.FormatUint(uint64(id), 10) }
