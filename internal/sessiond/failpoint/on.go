// SPDX-License-Identifier: Apache-2.0

//go:build failpoints && unix

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// What the environment asked for, read once: the worker's program never sees this environment.
var (
	armed, passages = order(os.Getenv("SPAWN_FAILPOINT"))
	stops           = os.Getenv("SPAWN_FAILPOINT_STOP") == "1"
	logPath         = os.Getenv("SPAWN_FAILPOINT_LOG")

	passed atomic.Int64 // how often the armed point was
)

// order reads a point, and at which passage of it to die.
func order(text string) (Point, int64) {
	name, nth, counted := strings.Cut(text, "#")
	if !counted {
		return Point(name), 1
	}
	n, err := strconv.ParseInt(nth, 10, 64)
	if err != nil || n < 1 {
		panic("failpoint: SPAWN_FAILPOINT=" + text)
	}
	return Point(name), n
}

// isDue counts a passage of p and reports whether it is the one at which to die.
func isDue(p Point) bool { return p == armed && passed.Add(1) == passages }

// Pass notes that execution is at p, and ends or stops the process if p is due.
func Pass(p Point) {
	note(p)
	switch {
	case !isDue(p):
	case stops:
		stopHere()
	default:
		die()
	}
}

// Tear stands before a write of b. If p is due it writes the first half and ends the process, or stops it before.
func Tear(p Point, b []byte, write func([]byte)) {
	note(p)
	switch {
	case !isDue(p):
	case stops:
		stopHere()
	default:
		write(b[:len(b)/2])
		die()
	}
}

// note adds a line to the log with one write, which several threads do not mix up. A log that cannot be written must not go
// unnoticed: the test that reads it would believe that the point was never passed.
func note(p Point) {
	if logPath == "" {
		return
	}
	file, err := os.OpenFile(logPath, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.WriteString(string(p) + "\n"); err != nil {
		panic(err)
	}
}

// die ends the process as nothing else does: no deferred call, no exit handler, no flush.
func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // other threads may run for a moment; this one does nothing more
}
