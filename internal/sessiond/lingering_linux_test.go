// SPDX-License-Identifier: Apache-2.0

package sessiond

import (
	"strings"
	"testing"

	"spawn/internal/procmem"
	"spawn/internal/sessiond/wire"
	"spawn/internal/unmet"
)

// What a program has written and erased again, and what was typed, is nowhere in a worker's memory, although it went
// through every buffer that there is: the terminal's, the screens, the log, deltas, replays, frames. Neither marker is in the
// script, because a program's arguments stay.
func TestTextDoesNotLingerInAWorker(t *testing.T) {
	unmet.Root(t, "read a worker's memory")
	const written, typed = "LINGERING-TEXT-OF-A-PROGRAM", "LINGERING-TEXT-OF-A-TYPIST"
	const script = `stty -echo; m=$(printf %s LINGER ING-TEXT- OF-A-PROGRAM); echo ready
		while read -r what rest; do case $what in
		write) seq 1 3000 | sed "s/^/$m /";;
		styled) printf '\033[31m%s\033[m\n' "$m" "$m" "$m";;
		erase) printf '\033[H\033[2J\033[3J';;
		esac; echo "$what-done"; done`
	p := launchProcess(t)
	peer := dial(t, p.folder, p.id)
	peer.startScript("%s", script)
	peer.untilOutput("ready\r\n")
	peer.send(wire.AppendHistorySub(nil, true))
	say := func(what, rest string) {
		peer.output = nil
		peer.type_(what + " " + rest + "\r")
		peer.untilOutput(what + "-done\r\n")
	}
	say("write", typed)
	say("type", strings.Repeat(typed+" ", 100))
	say("styled", typed)
	for _, size := range [][2]uint16{{100, 30}, {33, 7}, {80, 24}} {
		peer.send(wire.AppendResize(nil, size[0], size[1]))
		peer.replay(everything)
		peer.replay(0)
	}
	say("write-again", typed)
	say("write", "once more")
	if _, stream := peer.replay(everything); strings.Count(stream, written) < 6000 {
		t.Fatalf("%d markers in the replay", strings.Count(stream, written))
	}
	shown := procmem.Of(t, p.cmd.Process.Pid)
	if procmem.Copies(shown, asCells(written)) == 0 {
		t.Fatal("the screen's text is not found in the memory: this test could find nothing")
	}
	say("erase", "")
	peer.replay(everything)
	after := procmem.Of(t, p.cmd.Process.Pid)
	for name, part := range map[string][]byte{
		"written": []byte(written), "written, as cells": asCells(written), "typed": []byte(typed),
	} {
		if n := procmem.Copies(after, part); n > 0 {
			t.Errorf("%s: %d copies", name, n)
		}
	}
}
