// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/signaling"
)

func TestVisitorsLeaveRoomForPairedBrowsers(t *testing.T) {
	ps := &pages{}
	begun := 0
	for n := 0; ps.visits.begin(fmt.Sprint("l_", n/visitsOfLinkMax)); n++ {
		begun++
	}
	if begun != visitsMax {
		t.Errorf("%d visits are open, want %d", begun, visitsMax)
	}
	by := access.Entrant{Who: access.Principal{Kind: access.KindShare, ID: "l_9"}, Link: access.Grant{ID: "l_9"}}
	if _, _, err := ps.Answer(context.Background(), by, "offer"); !errors.Is(err, signaling.ErrVisits) {
		t.Errorf("one too many: %v", err) // and nobody has looked at the offer: there is no endpoint here
	}
	for range visitsOfLinkMax {
		ps.visits.end("l_0")
	}
	if ps.visits.of("l_0") != 0 || ps.visits.of("l_1") != visitsOfLinkMax || len(ps.visits.mu.open) != visitsMax/visitsOfLinkMax-1 {
		t.Errorf("left are %v", ps.visits.mu.open)
	}
	for range visitsOfLinkMax {
		if !ps.visits.begin("l_9") {
			t.Error("those who left have made no room")
		}
	}
}
