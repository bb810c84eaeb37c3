// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"errors"
	"fmt"

	"spawn/internal/sessiond/emulator"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/wire"
)

var errSecondStart = errors.New("session has started before")

// command is one frame other than INPUT on its way from a connection's reader to the loop. The payload is the reader's; it
// waits until the loop has obeyed, so commands and input keep their order.
type command struct {
	generation uint64
	kind       wire.Kind
	payload    []byte
}

// receiveLoop is the connection's only reader. It hangs up at the first error of the stream or of the protocol.
//
// hop in 4/6: a frame of the supervisor is a whole, checked one from here on.
func (w *worker) receiveLoop(c *connection) {
	frames := wire.NewReader(c.raw, wire.ToWorker)
	defer frames.Wipe()
	for {
		kind, payload, err := frames.Next()
		if err == nil && kind == wire.KindInput {
			err = w.inbox.put(c.generation, payload, c.gone)
			notify(w.foreground.typed)
		} else if err == nil {
			err = w.pass(c, command{c.generation, kind, payload})
		}
		if err != nil {
			break
		}
	}
	select {
	case w.hangups <- c.generation:
	case <-c.gone:
	}
}

// pass hands a command to the loop and waits until it was obeyed.
func (w *worker) pass(c *connection, cmd command) error {
	select {
	case w.commands <- cmd:
	case <-c.gone:
		return errGone
	}
	select {
	case <-c.acks:
		return nil
	case <-c.gone:
		return errGone
	}
}

// obey carries out a command of the live connection. A command that is wrong ends the connection; one of an older connection
// is dropped.
func (w *worker) obey(cmd command) {
	if w.conn == nil || cmd.generation != w.conn.generation {
		return
	}
	if cmd.kind == wire.KindCaptureReq && w.conn.capturing != nil {
		w.conn.delayed = &cmd
		return
	}
	if err := w.execute(cmd); err != nil {
		w.detach()
		return
	}
	notify(w.conn.acks)
}

func (w *worker) execute(cmd command) error {
	switch cmd.kind {
	case wire.KindStart:
		return w.executeStart(cmd.payload)
	case wire.KindResize:
		cols, rows, err := wire.DecodeResize(cmd.payload)
		if err == nil {
			w.resize(cols, rows)
		}
		return err
	case wire.KindReplayReq:
		maxBytes, err := wire.DecodeReplayReq(cmd.payload)
		if err == nil {
			w.sendReplay(maxBytes)
		}
		return err
	case wire.KindHistorySub:
		on, err := wire.DecodeHistorySub(cmd.payload)
		if err == nil {
			w.conn.subscribed = on
			w.tellHistory(nil)
		}
		return err
	case wire.KindTheme:
		return w.executeTheme(cmd.payload)
	case wire.KindRedraw: // snapshots carry everything: there is nothing to provoke
		return nil
	case wire.KindCaptureReq:
		return w.executeCapture(cmd.payload)
	}
	return fmt.Errorf("%w: %v", wire.ErrUnknownKind, cmd.kind)
}

func (w *worker) executeStart(payload []byte) error {
	s, err := wire.DecodeStart(payload)
	if err != nil {
		return err
	}
	if w.state != lifecycle.Waiting {
		return errSecondStart
	}
	failpoint.Pass(failpoint.StartRead)
	w.start(s)
	return nil
}

func (w *worker) executeTheme(payload []byte) error {
	t, err := wire.DecodeTheme(payload)
	if err != nil {
		return err
	}
	theme := mergeTheme(w.theme, t)
	w.theme = &theme
	w.guard(func(screen *emulator.Terminal) { screen.SetTheme(theme) })
	return nil
}
