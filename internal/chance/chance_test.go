// SPDX-License-Identifier: Apache-2.0

package chance

import "testing"

// A gate that fails must fail again on the same tree, and hours must never be spent on the same draws.
func TestFewRunsDrawFromTheCommit(t *testing.T) {
	const test, commit = "TestAny", "0123456789ab"
	few := drawn(test, commit, false)
	if again := drawn(test, commit, false); again != few {
		t.Errorf("the same tree draws %d, then %d", few, again)
	}
	for what, other := range map[string]uint64{
		"another test":        drawn("TestOther", commit, false),
		"another commit":      drawn(test, commit+"-dirty", false),
		"many runs":           drawn(test, commit, true),
		"a tree without name": drawn(test, unknown, false),
	} {
		if other == few {
			t.Errorf("%s draws the same", what)
		}
	}
	if drawn(test, commit, true) == drawn(test, commit, true) || drawn(test, unknown, false) == drawn(test, unknown, false) {
		t.Error("a new draw is an old one")
	}
}
