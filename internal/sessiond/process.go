// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"spawn/internal/sessiond/pty"
	"spawn/internal/sessiond/secret"
)

const (
	// collectPercent makes the heap small rather than the collector rare: a worker's live heap is some hundred KiB, its
	// steady state allocates nothing, and the runtime's usual least heap of 4 MiB would be most of an idle worker.
	collectPercent = 20
	// heapBytesSoft makes the collector work harder, and return memory, beyond what a worker needs at its busiest: a full
	// replay in memory twice, and a large screen.
	heapBytesSoft = 32 << 20
)

// Prepare makes this process fit to be a worker; call it before anything else. From then on it cannot be dumped or traced,
// it survives broken pipes, hang-ups and keyboard interrupts that are meant for a process group it was started in, and it
// stands in no folder that somebody may want to unmount. Where the system can, it becomes the parent of all that the program
// leaves behind, so that nothing of a terminal is without a trace of it. The program on the terminal inherits none of this but the soft limit
// of core files, which its user may raise.
func Prepare() error {
	if err := secret.Harden(); err != nil {
		return fmt.Errorf("harden worker: %w", err)
	}
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGINT)
	debug.SetGCPercent(collectPercent)
	debug.SetMemoryLimit(heapBytesSoft)
	_ = pty.AdoptOrphans() // where there is no such thing, HELLO does not list it
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("leave working folder: %w", err)
	}
	return nil
}
