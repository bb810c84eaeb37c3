// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// fakeTexts is a terminal that shows nothing, in the panes that a fakeServer has.
type fakeTexts struct{}

func (fakeTexts) SendPane(_ context.Context, p PaneSendParams) (PaneSendResult, error) {
	return PaneSendResult{Bytes: len(p.Text)}, noPane(p.Pane)
}

func (fakeTexts) CapturePane(_ context.Context, p PaneCaptureParams) (PaneCaptureResult, error) {
	return PaneCaptureResult{Pane: p.Pane}, noPane(p.Pane)
}

// WaitPane waits for what never comes.
func (fakeTexts) WaitPane(ctx context.Context, p PaneWaitParams) (PaneWaitResult, error) {
	if err := noPane(p.Pane); err != nil {
		return PaneWaitResult{}, err
	}
	<-ctx.Done()
	return PaneWaitResult{}, ctx.Err()
}

func (fakeTexts) RunInPane(_ context.Context, p PaneRunParams) (PaneRunResult, error) {
	return PaneRunResult{}, noPane(p.Pane)
}

func (fakeTexts) SearchPane(_ context.Context, p PaneSearchParams) (PaneSearchResult, error) {
	return PaneSearchResult{}, noPane(p.Pane)
}

func (fakeTexts) ExportPane(_ context.Context, p PaneExportParams) (PaneExportResult, error) {
	return PaneExportResult{}, noPane(p.Pane)
}
