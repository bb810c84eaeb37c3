// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"spawn/internal/supervisor/verbs"
)

// endMax bounds the wait for a spawnd that is asked to end: its terminals, its last checkpoint, and some
// time for a host under load.
const endMax = 15 * time.Second

// shutdown asks for the end and waits until the process is gone, so that whatever follows finds its place
// free.
func shutdown(ctx context.Context, params, result any) error {
	var running verbs.ServerInfoResult
	if err := call(ctx, verbs.ServerInfo, verbs.Empty{}, &running); err != nil {
		return err
	}
	process, err := unix.PidfdOpen(running.PID, 0)
	if err != nil {
		return fmt.Errorf("watch spawnd, process %d: %w", running.PID, err)
	}
	defer unix.Close(process)
	if err := call(ctx, verbs.ServerShutdown, params, result); err != nil {
		return err
	}
	ended := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}} // readable once the process has ended: pidfd_open(2)
	for deadline := time.Now().Add(endMax); ; {
		left := time.Until(deadline)
		if left <= 0 {
			return verbs.Errorf(verbs.CodeTimeout, "spawnd is told to end, and still runs after %v", endMax)
		}
		n, err := unix.Poll(ended, int(left.Milliseconds())+1)
		switch {
		case n > 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("await the end of spawnd: %w", err)
		}
	}
}
