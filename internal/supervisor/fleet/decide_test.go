// SPDX-License-Identifier: Apache-2.0

package fleet

import "testing"

func allFacts(visit func(facts)) {
	for lock := range lockFacts {
		for reach := range reachFacts {
			for hello := range helloFacts {
				visit(facts{lock, reach, hello})
			}
		}
	}
}

func TestEveryCombinationFitsOneRow(t *testing.T) {
	used := map[byte]int{}
	allFacts(func(f facts) {
		var fit []byte
		for _, r := range rows {
			if r.fits(f) {
				fit = append(fit, r.letter)
			}
		}
		if len(fit) != 1 {
			t.Errorf("%+v fits the rows %q", f, fit)
			return
		}
		used[fit[0]]++
		if got := decide(f); got.letter != fit[0] {
			t.Errorf("decide(%+v) is row %c, want %c", f, got.letter, fit[0])
		}
	})
	for _, r := range rows {
		if used[r.letter] == 0 {
			t.Errorf("row %c is never used", r.letter)
		}
		if (r.do == adopt) != (r.code == "") {
			t.Errorf("row %c: an adoption has no code, everything else has one", r.letter)
		}
	}
}

// What each decision may do to a worker is allowed by these facts and no others.
func TestDecisionsNeedTheirFacts(t *testing.T) {
	allFacts(func(f facts) {
		switch got := decide(f).do; {
		case got == sweep && f.lock != lockFree:
			t.Errorf("%+v: files are removed although somebody may hold the reservation", f)
		case got == adopt && f != facts{lockHeld, reachConnected, helloLive}:
			t.Errorf("%+v is adopted", f)
		case got == dismiss && f != facts{lockHeld, reachConnected, helloWaiting}:
			t.Errorf("%+v is dismissed", f)
		}
	})
	if got := decide(facts{}); got.do != leave {
		t.Errorf("nothing known: row %c", got.letter)
	}
}

func TestRefusalsSayWhetherAWorkerMayLive(t *testing.T) {
	for _, r := range rows {
		if r.do != adopt && (&Refusal{Code: r.code}).Held() != (r.do == leave) {
			t.Errorf("row %c: Held is %v", r.letter, (&Refusal{Code: r.code}).Held())
		}
	}
}
