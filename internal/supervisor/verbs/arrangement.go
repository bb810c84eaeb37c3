// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Arrangement is what the verbs of sessions, windows and places act on.
type Arrangement interface {
	NewSession(ctx context.Context, p SessionNewParams) (SessionResult, error)
	Sessions(ctx context.Context) ([]Session, error)
	RenameSession(ctx context.Context, p SessionRenameParams) (SessionResult, error)
	CloseSession(ctx context.Context, p SessionParams) (Empty, error)
	MoveSession(ctx context.Context, p SessionMoveParams) (Empty, error)

	NewWindow(ctx context.Context, p WindowNewParams) (WindowResult, error)
	Windows(ctx context.Context, p WindowListParams) ([]Window, error)
	RenameWindow(ctx context.Context, p WindowRenameParams) (WindowResult, error)
	CloseWindow(ctx context.Context, p WindowParams) (Empty, error)
	MoveWindow(ctx context.Context, p WindowMoveParams) (WindowResult, error)

	SplitPane(ctx context.Context, p PaneSplitParams) (PaneResult, error)
	ResizePane(ctx context.Context, p PaneResizeParams) (WindowResult, error)
	PlacePane(ctx context.Context, p PanePlaceParams) (WindowResult, error)
	MovePane(ctx context.Context, p PaneMoveParams) (WindowResult, error)
	SwapPanes(ctx context.Context, p PaneSwapParams) (Empty, error)
	FocusPane(ctx context.Context, p PaneFocusParams) (WindowResult, error)
	ZoomPane(ctx context.Context, p PaneZoomParams) (WindowResult, error)
	TagPane(ctx context.Context, p PaneTagParams) (PaneTagResult, error)
}
