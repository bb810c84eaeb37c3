// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"time"

	"spawn/internal/supervisor/verbs"
)

// A verb may take long, and a spawnd that is stopped answers nothing; the connection looks the same. So whoever waits
// asks for something small beside, on a connection of its own, now and then.

// probeAfter is how long an answer is waited for before spawnd is asked whether it lives. The rest of callTimeout is
// the time that it has for that. Nearly every answer has come before.
const probeAfter = 2 * time.Second

// watch makes u's reads and writes fail when spawnd has shown no life for callTimeout. What it returns ends the watch,
// and reports whether that is what happened.
func (s Socket) watch(ctx context.Context, u *net.UnixConn) (end func() (silent bool)) {
	ctx, cancel := context.WithCancel(ctx)
	found := make(chan bool, 1)
	go func() {
		silent := s.fallsSilent(ctx)
		if silent {
			_ = u.SetDeadline(time.Unix(1, 0))
		}
		found <- silent
	}()
	return func() bool { cancel(); return <-found }
}

// fallsSilent returns true when spawnd shows no life in time, and false when ctx ends.
func (s Socket) fallsSilent(ctx context.Context) bool {
	pause := time.NewTicker(probeAfter)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-pause.C:
		}
		if err := s.probe(ctx); err != nil && ctx.Err() == nil {
			return true
		}
		pause.Reset(probeAfter)
	}
}

// probe fails when spawnd says nothing at all in time. A refusal is an answer, and so is a connection that ends: whoever
// waits finds that out by itself.
func (s Socket) probe(ctx context.Context) error {
	const id = 1
	ctx, cancel := context.WithTimeout(ctx, callTimeout-probeAfter)
	defer cancel()
	u, err := s.queue(ctx)
	if err != nil {
		return onlySilence(err)
	}
	defer u.Close()
	defer context.AfterFunc(ctx, func() { _ = u.SetDeadline(time.Unix(1, 0)) })()
	line, err := verbs.EncodeRequest(id, verbs.ServerInfo, verbs.Empty{}, "")
	if err != nil {
		return err
	}
	if _, err := u.Write(line); err != nil {
		return onlySilence(err)
	}
	_, err = bufio.NewReader(u).ReadByte()
	return onlySilence(err)
}

// onlySilence returns the error of a time that is over, and nil for any other.
func onlySilence(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// silent is the error for a spawnd that listens and says nothing.
func (s Socket) silent() error {
	return verbs.Errorf(verbs.CodeTimeout, "spawnd at %s has shown no life for %v: it is stopped, or its host is overloaded; whether it did what was asked is not known",
		s.Path, callTimeout)
}
