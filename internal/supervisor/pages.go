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
	host     *Supervisor
	endpoint *rtc.Endpoint
	panes    *panes
	board    *page.Board
	server   page.Server
	verbs    verbs.Dispatcher
	log      *slog.Logger
	visits   visits
	ctx      context.Context // of every page
	serving  sync.WaitGroup  // one for each peer; ends when the endpoint is closed
}

// Answer implements signaling.Peers.
func (ps *pages) Answer(ctx context.Context, who access.Entrant, offer string) (signaling.Peer, string, error) {
	over := func() {}
	if who.Who.Kind == access.KindShare {
		if !ps.visits.begin(who.Link.ID) {
			return nil, "", signaling.ErrVisits
		}
		over = func() { ps.visits.end(who.Link.ID) }
	}
	peer, answer, err := ps.endpoint.Answer(ctx, offer)
	if errors.Is(err, rtc.ErrDescription) {
		err = fmt.Errorf("%w: %w", signaling.ErrProtocol, err)
	}
	if err != nil {
		over()
		return nil, "", err
	}
	ps.serving.Go(func() {
		defer over()
		ps.serve(peer, who)
	})
	return peer, answer, nil
}

func (ps *pages) serve(peer *rtc.Peer, entrant access.Entrant) {
	defer peer.Close()
	who := entrant.Who
	ctx, end := context.WithCancel(ps.ctx)
	defer end()
	leave, ok := ps.host.admitted.admit(admissionOf(entrant, end))
	if !ok {
		return // it was unpaired meanwhile, or the link has ended
	}
	defer leave()
	ps.log.Info("a page is connected", "who", who.String())
	err := page.Serve(ctx, page.Options{
		Accept:     func(ctx context.Context) (page.Channel, error) { return peer.Accept(ctx) },
		Panes:      pagePanes{ps, who},
		Verbs:      ps.verbs,
		Caller:     caller{who: who},
		Board:      ps.board,
		Server:     ps.server,
		ViewerName: entrant.Name,
		Visit:      visitOf(entrant),
		Log:        ps.log,
	})
	if err != nil && !errors.Is(err, rtc.ErrClosed) && ctx.Err() == nil {
		ps.log.Warn("a page was given up", "who", who.String(), "error", err)
		return
	}
	ps.log.Info("a page has left", "who", who.String())
}

// pagePanes is what a page may watch, in the words that pages know: as much as who has it open may read.
type pagePanes struct {
	*pages
	who access.Principal
}

func (p pagePanes) check(right access.Right, on access.Resource) error {
	return p.pageError(p.host.authority.Check(p.who, right, on))
}

func (p pagePanes) Attach(id string, sink fanout.Sink, o fanout.AttachOptions) (page.Viewer, error) {
	if err := p.check(access.Read, paneResource(id)); err != nil {
		sink.Close()
		return nil, err
	}
	v, err := p.host.attach(p.who, "", id, sink, o)
	if err != nil {
		return nil, p.pageError(err)
	}
	return v, nil
}

// Sees implements page.Panes.
func (p pagePanes) Sees(id string) bool {
	return p.host.authority.Check(p.who, access.Read, paneResource(id)) == nil
}

func paneResource(id string) access.Resource { return access.Resource("pane:" + id) }

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
		Argv0: r.Argv0, Foreground: r.Foreground, Window: r.Window, Index: r.Index,
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
