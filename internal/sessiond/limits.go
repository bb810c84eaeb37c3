// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"time"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/foreground"
	"spawn/internal/sessiond/lifecycle"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/sessiond/secret"
	"spawn/internal/sessiond/wire"
)

// Every bound of the worker, with what happens when it is reached.

// Output. When all of it is full the PTY is not read, the kernel's buffer fills, and the program waits in write(2).
const (
	// ringBytes is how far the PTY's reader may be ahead of the loop: eight chunks of 8 KiB, as the design has it, in one piece.
	ringBytes = 8 * 8 << 10
	// readBytesMax is what is read before the loop is told. The kernel hands out at most 4 KiB at a time, and has up to three
	// times as much behind it, which come at once while the program writes on.
	readBytesMax = 16 << 10
	// strideBytes is what the loop takes at once, half of the ring: while it draws, the reader has the other half.
	strideBytes = ringBytes / 2
	// outboxBytesMax is what may wait for the supervisor before the loop stops taking output, replays and captures apart: a long
	// answer on its way is no reason to stop the program. It is about one socket buffer, so that a live peer always has
	// something to read; commands are still served above it.
	outboxBytesMax = 256 << 10
	// outboxReplayMax is what may wait before the loop stops taking commands too. Only a replay gets there: a peer that
	// asks again and again without reading must not collect copies of the log in our memory.
	outboxReplayMax = 1 << 20
	// outboxHistoryMax is what may wait, answers apart, with another HISTORY; one that does not fit is left out, and the peer sees
	// the hole. Output alone cannot bound it: six bytes can push a screen of coloured blanks into the history.
	outboxHistoryMax = 1 << 20
	// heldBytesMax is the most of a program's output that a worker holds for a supervisor that does not read: the ring, which is
	// all that the contract speaks of, the outbox, and the stride that was taken when that had a byte of room.
	heldBytesMax = ringBytes + outboxBytesMax + wire.OutputMax
	// outboxKeepBytes is the most that an idle connection keeps of its buffers.
	outboxKeepBytes = 32 << 10
	// straightBytesMax is the most that the loop itself writes to the socket: an echo, a line, the prompt of a shell. More than
	// that is worth another goroutine.
	straightBytesMax = 2 << 10
	// floodBytes is the batch after which more is expected, gatherBytes what is then waited for, and gatherMax how long. At the
	// speed of a terminal it comes in less; what ends a flood is late by it.
	floodBytes  = 16 << 10
	gatherBytes = 64 << 10
	gatherMax   = time.Millisecond
	// outboxBeginBytes is the first allocation of a connection's buffer.
	outboxBeginBytes = 4 << 10
)

// Input. When it is full the reader of the connection waits, so the supervisor's own queue fills; the loop never waits.
const (
	inputBytesMax  = 1 << 20
	inputFramesMax = 4096
	// inputPieceBytes is one write to the PTY: the kernel takes no more at once, and between two pieces a takeover can
	// discard the rest.
	inputPieceBytes = 4 << 10
	// repliesBytesMax bounds the emulator's answers to a program that asks and does not read. What does not fit is dropped.
	repliesBytesMax = 64 << 10
)

// Notices. What does not fit in a window is dropped, but of a title or a folder the last value is always sent.
const (
	noticeWindow           = 50 * time.Millisecond
	notificationsWindowMax = 4
	marksWindowMax         = 64
	noticeTextMax          = 1 << 10 // bytes
)

// Times. The two long ones, START and linger, belong to package lifecycle.
const (
	// helloWriteMax can only be reached by a broken kernel: a new socket has room for HELLO. The loop waits this long.
	helloWriteMax = 100 * time.Millisecond
	// farewellMax is how long the last frames may take when the worker ends.
	farewellMax = time.Second
	// drainMax is how long a background job may keep the terminal open after the shell's end.
	drainMax = 2 * time.Second
	// reopenEvery is how often a terminal that nobody has open is looked at while its program lives: the program may open
	// it again, and the kernel has no event for that.
	reopenEvery = 250 * time.Millisecond
	// graceMax is the time between TERM, HUP and KILL when the worker itself is told to end.
	graceMax = 1500 * time.Millisecond
	// foregroundEvery is the pace of looking at who owns the keyboard while something may have changed that; after
	// foregroundQuietMax looks during which nothing said so it is foregroundIdleEvery. The contract says once a second
	// throughout; docs/protocol.md has what that would cost.
	foregroundEvery     = time.Second
	foregroundIdleEvery = 30 * time.Second
	foregroundQuietMax  = 3
	// acceptRetry is the pause after a failed accept, out of descriptors for instance.
	acceptRetry = 50 * time.Millisecond
)

// Before START the screen has the size that terminals had before windows.
const (
	colsDefault = 80
	rowsDefault = 24
)

// Relations. Each line fails to compile when its difference is negative.
const (
	_ = uint(ringBytes - strideBytes - readBytesMax)                                     // a read has room while the loop draws
	_ = uint(strideBytes - burstBytes)                                                   // a flood shows in what is taken at once
	_ = uint(wire.OutputMax - strideBytes)                                               // a stride fits one OUTPUT
	_ = uint(outboxBytesMax - wire.OutputMax - wire.HeaderLen)                           // the outbox holds the largest OUTPUT
	_ = uint(outboxBytesMax - gatherBytes - floodBytes)                                  // what is gathered is not waited for in vain
	_ = uint(outboxReplayMax - outboxBytesMax)                                           // commands outlive output
	_ = uint(outboxHistoryMax - outboxBytesMax - outboxBytesMax)                         // history that comes of usual output is told
	_ = uint(inputBytesMax - wire.InputMax)                                              // the largest INPUT fits an empty inbox
	_ = uint(wire.InputMax - inputPieceBytes)                                            // a piece is a part of a frame
	_ = uint(wire.ForegroundRunesMax - foreground.NameRunesMax)                          // a name fits one FOREGROUND, by characters
	_ = uint(wire.ForegroundMax - 4*foreground.NameRunesMax)                             // and by bytes
	_ = uint(wire.NoticeTextMax - noticeTextMax)                                         // a clipped text fits one NOTICE
	_ = uint(wire.SizeMax - colsDefault)                                                 // HELLO accepts the size before START
	_ = uint(wire.MaxFrameLen - 8 - (scrollback.MaxLogBytes + scrollback.MaxLogBytes/2)) // a replay of a full log fits one REPLAY with a large screen
	_ = uint(drainMax - 2*reopenEvery)                                                   // the reader looks again before the drain gives up
)

// The contract's numbers that packages below work with, each there with its reason, and here once more beside the contract's own,
// so that this file has all of them. A line fails to compile when the two differ. What a test can look up while the program
// runs, such as the rows of the table of frames, is in TestLimitsAreTheSpecs besides.
const (
	_ = -uint(endpoint.FolderMode - 0o700)              // §3
	_ = -uint(endpoint.FileMode - 0o600)                // §3
	_ = -uint(processorsMax - 2)                        // §3: threads of a worker's runtime
	_ = -uint(wire.HeaderLen - 5)                       // §4
	_ = -uint(wire.MaxFrameLen - 32<<20)                // §4
	_ = -uint(wire.ProtoVersion - 5)                    // §4
	_ = -uint(wire.InputMax - 64<<10)                   // §4
	_ = -uint(lifecycle.StartTimeout - 120*time.Second) // §4
	_ = -uint(lifecycle.ExitLinger - 60*time.Second)    // §4
	_ = -uint(endpoint.RequestLen - 17)                 // §4
	_ = -uint(endpoint.RequestBufLen - 18)              // §4
	_ = -uint(endpoint.SignalDeadline - 2*time.Second)  // §4
	_ = -uint(foreground.NameRunesMax - 64)             // §4.1
	_ = -uint(scrollback.HeaderBytes - 13)              // §6.1
	_ = -uint(scrollback.TagBytes - 16)                 // §6.1
	_ = -uint(8*scrollback.NonceBytes - 96)             // §6.1
	_ = -uint(scrollback.SegmentBytesDefault - 256<<10) // §6.2
	_ = -uint(scrollback.MaxLogBytes - 8<<20)           // §6.2
	_ = -uint(scrollback.MaxFiles - 128)                // §6.2
	_ = -uint(scrollback.ReplayCopies - 2)              // §6.2
	_ = -uint(secret.KeyBytes - 32)                     // §7
	_ = -uint(ringBytes - 8*8<<10)                      // §9: eight chunks of 8 KiB
)
