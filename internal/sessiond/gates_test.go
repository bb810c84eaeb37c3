// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessiond

import (
	"slices"
	"testing"

	"spawn/internal/sessiond/wire"
)

// asked says of each gated kind that a worker may send what asks for it. A kind without a row must not be sent at all.
var asked = map[wire.Kind]func(p *peer){
	wire.KindHistory:     func(p *peer) { p.send(wire.AppendHistorySub(nil, true)) },
	wire.KindHistoryWipe: func(p *peer) { p.send(wire.AppendHistorySub(nil, true)) },
	wire.KindCapture:     func(p *peer) { p.send(wire.AppendCaptureReq(nil, wire.CaptureReq{What: wire.CaptureScreen})) },
	wire.KindNotice:      nil, // whoever reads HELLO's list knows that they come
}

// A supervisor older than a kind must not be sent it: a gated kind comes only from a worker that lists the capability, and,
// but for notices, only when it was asked for.
func TestGatedFramesComeOnlyWhenAskedFor(t *testing.T) {
	const script = `read x; while read x; do seq 1 100; printf '\033]2;title '$x'\007\033[3J'; echo round-$x; done`
	for kind, ask := range asked {
		tw := launch(t)
		p := tw.dial()
		p.startScript(script)
		p.send(wire.AppendTheme(nil, wire.Theme{Foreground: "#ffffff", Background: "#000000", Cursor: "#00ff00"}))
		p.type_("\rone\r")
		p.untilOutput("round-one\r\n")
		p.replay(everything)
		unasked := ask == nil
		if got := p.count(kind) > 0; got != unasked {
			t.Errorf("%v came unasked: %v, want %v", kind, got, unasked)
		}
		if ask != nil {
			ask(p)
		}
		p.type_("two\r")
		p.untilOutput("round-two\r\n")
		tw.clock.fire(noticeWindow)
		p.replay(everything)
		if p.count(kind) == 0 {
			t.Errorf("%v did not come although it was asked for", kind)
		}
		for _, f := range p.seen {
			s, _ := wire.Lookup(f.kind)
			if _, known := asked[f.kind]; s.Since != "" && (!known || !slices.Contains(p.hello.Capabilities, s.Since)) {
				t.Errorf("%v came from a worker that lists %v", f.kind, p.hello.Capabilities)
			}
		}
	}
	for _, s := range wire.Kinds() {
		if _, known := asked[s.Kind]; s.Dir == wire.FromWorker && s.Since != "" && !known {
			t.Errorf("%v: what asks for it?", s.Kind)
		}
	}
}
