// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/rtc"
	"spawn/internal/supervisor/signaling"
	"spawn/internal/supervisor/verbs"
)

// pages answers browsers: each peer that signalling brings is served its panes until it ends.
type pages struct {
	endpoint *rtc.Endpoint
	panes    *panes
	board    *page.Board
	server   page.Server
	verbs    verbs.Dispatcher
	log      *slog.Logger
	ctx      context.Context // of every page
	serving  sync.WaitGroup  // one for each peer; ends when the endpoint is closed
}

// Answer implements signaling.Peers.
func (ps *pages) Answer(ctx context.Context, device access.Device, offer string) (signaling.Peer, string, error) {
	peer, answer, err := ps.endpoint.Answer(ctx, offer)
	if errors.Is(err, rtc.ErrDescription) {
		err = fmt.Errorf("%w: %w", signaling.ErrProtocol, err)
	}
	if err != nil {
		return nil, "", err
	}
	ps.serving.Go(func() { ps.serve(peer, device) })
	return peer, answer, nil
}

func (ps *pages) serve(peer *rtc.Peer, device access.Device) {
	defer peer.Close()
	ps.log.Info("a page is connected", "device", device.ID)
	err := page.Serve(ps.ctx, page.Options{
		Accept:     func(ctx context.Context) (page.Channel, error) { return peer.Accept(ctx) },
		Panes:      pagePanes{ps},
		Verbs:      ps.verbs,
		Caller:     caller(access.Principal{Kind: access.KindDevice, ID: device.ID}.String()),
		Board:      ps.board,
		Server:     ps.server,
		ViewerName: device.Name,
		Log:        ps.log,
	})
	if err != nil && !errors.Is(err, rtc.ErrClosed) && ps.ctx.Err() == nil {
		ps.log.Warn("a page was given up", "device", device.ID, "error", err)
		return
	}
	ps.log.Info("a page has left", "device", device.ID)
}

// caller is a paired browser, an owner device, to the verbs.
type caller string

// Principal is part of verbs.Caller.
func (c caller) Principal() string { return string(c) }

// pagePanes is what pages may watch, in the words that pages know.
type pagePanes struct{ *pages }

func (p pagePanes) Attach(id string, sink fanout.Sink, o fanout.AttachOptions) (page.Viewer, error) {
	v, err := p.panes.Attach(id, sink, o)
	if err != nil {
		return nil, p.pageError(err)
	}
	return v, nil
}

// pageError gives an error of ours the code that a page knows it by.
func (p pagePanes) pageError(err error) error {
	if err == nil {
		return nil
	}
	code, known := codeOf(err)
	if !known {
		p.log.Error("a page's request failed", "error", err)
		return &page.CtlError{Code: string(code), Message: "it failed; the log of spawnd says why"}
	}
	return &page.CtlError{Code: string(code), Message: err.Error()}
}

func paneInfo(r Row) page.PaneInfo {
	p := page.PaneInfo{
		ID: r.ID, Name: r.Name, Title: r.Title, State: page.PaneState(r.State), Cols: r.Cols, Rows: r.Rows,
		Foreground: r.Foreground, Window: r.Window, Index: r.Index,
	}
	if r.Exit != nil {
		p.ExitCode, p.Signal = r.Exit.ExitCode, r.Exit.Signal
	}
	if a := r.Archive; a != nil {
		p.Archive = &page.Archive{
			Checkpoint: a.Checkpoint, PreviousPane: a.PreviousPane, ProcessState: string(a.ProcessState), TextState: string(a.TextState),
			CutRows: a.CutRows,
		}
	}
	return p
}

// pair makes the address that pairs another browser.
func pair(door *access.Door, server *signaling.Server) (string, error) {
	code, err := door.NewCode()
	if err != nil {
		return "", fmt.Errorf("make a pairing code: %w", err)
	}
	return server.PairURL(code), nil
}
