// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"

	"spawn/internal/strictjson"
)

// outbox is what waits to go out on spawn.ctl. One goroutine, write, sends it: answers and pane events
// before events of attached panes, so that a snapshot of a thousand pieces holds up no answer. What was
// put as urgent before something was put as bulk also goes out before it.
type outbox struct {
	urgent chan []byte
	bulk   chan []byte
}

func newOutbox() *outbox {
	return &outbox{urgent: make(chan []byte, urgentMax), bulk: make(chan []byte, bulkMax)}
}

// putUrgent waits for room.
func (o *outbox) putUrgent(ctx context.Context, message any) error {
	return put(ctx, o.urgent, message)
}

// putBulk waits for room: this is what slows a viewer down to the page's pace.
func (o *outbox) putBulk(ctx context.Context, message any) error { return put(ctx, o.bulk, message) }

// putAnswer waits for room for the answer to request id. One that is too long for one message goes in
// pieces, among the events of attached panes, so that it holds up no other answer.
func (o *outbox) putAnswer(ctx context.Context, id uint64, message any) error {
	text, err := strictjson.Marshal(message)
	switch {
	case err != nil:
		return err
	case len(text) <= messageMax:
		return queue(ctx, o.urgent, text)
	case len(text) > answerBytesMax:
		return o.putUrgent(ctx, errorAnswer{id, refused("internal", "the answer is too long")})
	}
	for seq := 0; ; seq++ {
		piece := text[:min(len(text), pieceBytes)]
		text = text[len(piece):]
		p := AnswerPiece{ID: id, Seq: seq, Last: len(text) == 0, Data: encode(piece)}
		if err := o.putBulk(ctx, p); err != nil || p.Last {
			return err
		}
	}
}

func put(ctx context.Context, to chan<- []byte, message any) error {
	text, err := strictjson.Marshal(message)
	if err != nil {
		return err
	}
	if len(text) > messageMax {
		return fmt.Errorf("send %T: %d bytes, at most %d", message, len(text), messageMax)
	}
	return queue(ctx, to, text)
}

func queue(ctx context.Context, to chan<- []byte, text []byte) error {
	select {
	case to <- text:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write sends until ctx ends or the channel fails.
func (o *outbox) write(ctx context.Context, ctl Channel) error {
	for {
		var err error
		select {
		case text := <-o.urgent:
			err = ctl.Write(ctx, text)
		case text := <-o.bulk:
			if err = o.writeUrgent(ctx, ctl); err == nil {
				err = ctl.Write(ctx, text)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// writeUrgent sends what is urgent at this moment.
func (o *outbox) writeUrgent(ctx context.Context, ctl Channel) error {
	for {
		select {
		case text := <-o.urgent:
			if err := ctl.Write(ctx, text); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}
