// SPDX-License-Identifier: Apache-2.0

package localattach

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"spawn/internal/sessiond/wire"
)

// A terminal that its user has stopped (ctrl-s) takes no output. The way out does not wait for it.
func TestAStoppedTerminalDoesNotHoldUpTheEnd(t *testing.T) {
	d, p := sit(t), newPane()
	d.attach(t.Context(), to(p))
	d.did(p, "attach 100x30")
	p.say(wire.AppendReplay(nil, 0, []byte(screenMark+"PAINT")))
	d.sees("PAINT")
	flow := func(action int) {
		if err := unix.IoctlSetInt(int(d.tty.Fd()), unix.TCXONC, action); err != nil {
			t.Fatal(err)
		}
	}
	flow(unix.TCOOFF)
	defer flow(unix.TCOON)
	p.say(wire.AppendOutput(nil, bytes.Repeat([]byte("x"), 60<<10)))
	_ = unix.Kill(unix.Getpid(), unix.SIGTERM)
	if r := d.result(); r.outcome.How != Interrupted {
		t.Errorf("%+v", r)
	}
}
