// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/base64"
	"strconv"
	"sync"

	"spawn/internal/supervisor/fanout"
)

// sink is a viewer's way to one page: output goes on the pane's own channel, all else on spawn.ctl. The
// hub's writer for this viewer calls it, one call at a time.
type sink struct {
	pane    string
	channel Channel
	out     *outbox
	ctx     context.Context // ends with Close, and with the page
	cancel  context.CancelFunc
	ended   func(*sink) // told of Close

	// gate is held from before a request acts on the viewer until its answer is queued: so no event that
	// follows from the request comes before the answer.
	gate sync.Mutex
	// calls is held during a call; see settle.
	calls sync.Mutex
}

// Output sends live bytes, which the page counts: see Snapshot.
func (k *sink) Output(p []byte) error {
	defer k.enter()()
	for len(p) > 0 {
		n := min(len(p), messageMax)
		if err := k.channel.Write(k.ctx, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// enter marks a call under way and returns what ends it.
func (k *sink) enter() func() {
	k.calls.Lock()
	return k.calls.Unlock
}

// settle waits until no call is under way, after Close. From then on nothing more of this viewer is on
// the pane's channel, and the count of its bytes stands still for the next viewer.
func (k *sink) settle() { k.enter()() }

// Snapshot sends a snapshot in pieces. The count of bytes sent so far is its place in the pane's channel:
// what the page has got or will get up to there is in the snapshot, what comes after follows it.
func (k *sink) Snapshot(s fanout.Snapshot) error {
	defer k.enter()()
	if err := k.pass(); err != nil {
		return err
	}
	head := &SnapshotHead{
		Cols: s.Cols, Rows: s.Rows, Full: s.Full, Unavailable: s.Unavailable,
		Watermark: decimal(s.Watermark), DCOffset: k.channel.Sent(), Epoch: decimal(s.Epoch), Offset: s.Offset,
	}
	for seq, rest := 0, s.Stream; ; seq++ {
		piece := rest[:min(len(rest), pieceBytes)]
		rest = rest[len(piece):]
		e := SnapshotEvent{Event: "snapshot", Pane: k.pane, Seq: seq, Last: len(rest) == 0, Data: encode(piece), SnapshotHead: head}
		if err := k.out.putBulk(k.ctx, e); err != nil || e.Last {
			return err
		}
		head = nil
	}
}

// pass waits for the gate.
func (k *sink) pass() error {
	k.gate.Lock()
	k.gate.Unlock() //nolint:staticcheck // SA2001: waiting is all there is to do
	return context.Cause(k.ctx)
}

// Event sends everything that is not output or a snapshot, in its order with the snapshots.
func (k *sink) Event(e fanout.Event) error {
	defer k.enter()()
	if err := k.pass(); err != nil {
		return err
	}
	if delta, ok := e.(fanout.HistoryDelta); ok {
		return k.history(delta)
	}
	message := k.message(e)
	if message == nil {
		return nil
	}
	return k.out.putBulk(k.ctx, message)
}

// history sends a batch in fragments that chain by their offsets.
func (k *sink) history(d fanout.HistoryDelta) error {
	for len(d.Text) > 0 {
		n := min(len(d.Text), pieceBytes)
		err := k.out.putBulk(k.ctx, HistoryDeltaEvent{
			Event: "history_delta", Pane: k.pane, Epoch: decimal(d.Epoch), Offset: d.Offset, Data: encode(d.Text[:n]),
		})
		if err != nil {
			return err
		}
		d.Text, d.Offset = d.Text[n:], d.Offset+uint64(n)
	}
	return nil
}

// message translates an event. It is nil for what a page learns from the list of panes, titles and such,
// whether it is attached or not.
func (k *sink) message(e fanout.Event) any {
	switch e := e.(type) {
	case fanout.HistoryWipe:
		return HistoryWipeEvent{"history_wipe", k.pane, decimal(e.Epoch)}
	case fanout.HistoryGap:
		return HistoryGapEvent{"history_gap", k.pane}
	case fanout.Size:
		return SizeEvent{"size", k.pane, e.Cols, e.Rows}
	case fanout.Control:
		return k.control(e)
	case fanout.Exit:
		return ExitEvent{"exit", k.pane, e.ExitCode, e.Signal}
	case fanout.Lost:
		return LostEvent{"lost", k.pane}
	case fanout.Dropped:
		return DroppedEvent{"dropped", k.pane, e.Reason}
	}
	return nil
}

func (k *sink) control(e fanout.Control) ControlEvent {
	c := ControlEvent{Event: "control", Pane: k.pane, You: e.You, ControllerName: Plain(e.ControllerName, nameRunesMax)}
	if e.Controller != 0 {
		c.Controller = decimal(uint64(e.Controller))
	}
	if e.Request != nil {
		c.Request = &ControlRequest{decimal(uint64(e.Request.Viewer)), Plain(e.Request.Name, nameRunesMax)}
	}
	return c
}

// Close releases a call that blocks, and makes every later one fail.
func (k *sink) Close() {
	k.cancel()
	k.ended(k)
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func encode(p []byte) string { return base64.RawURLEncoding.EncodeToString(p) }
