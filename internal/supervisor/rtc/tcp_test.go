// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"strings"
	"testing"

	"github.com/pion/webrtc/v4"
)

// A tunnel that carries TCP alone is enough.
func TestAPageThatHasOnlyTCPConnects(t *testing.T) {
	e := listen(t)
	s := loopbackSettings()
	s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
	p := newPage(t, s, webrtc.Configuration{})
	peer := p.connect(e)
	exchangeOne(t, accept(t, peer), p.ctl.wait(t))
	pair, err := peer.pc.SCTP().Transport().ICETransport().GetSelectedCandidatePair()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(pair.String(), "tcp") {
		t.Errorf("connected by %v", pair)
	}
	peer.Close()
}
