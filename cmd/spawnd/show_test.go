// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"spawn/internal/supervisor/verbs"
)

// A record is told from a terminal, whatever was seen of its end.
func TestAListTellsRecordsFromTerminals(t *testing.T) {
	three := 3
	interrupted, exited := verbs.Archived{Checkpoint: "c", ProcessState: "interrupted"}, verbs.Archived{Checkpoint: "c", ProcessState: "exited"}
	for want, p := range map[string]verbs.Pane{
		"running":                                 {State: verbs.PaneRunning},
		"lost (status unknown)":                   {State: verbs.PaneLost},
		"exited (3)":                              {State: verbs.PaneExited, ExitCode: &three},
		"exited (TERM)":                           {State: verbs.PaneExited, Signal: "TERM"},
		"record (exited with 3)":                  {State: verbs.PaneExited, ExitCode: &three, Recovery: exited},
		"record (ended by signal TERM)":           {State: verbs.PaneExited, Signal: "TERM", Recovery: exited},
		"record (ended, nobody knows how)":        {State: verbs.PaneLost, Recovery: exited},
		"record (interrupted, and may run still)": {State: verbs.PaneLost, Recovery: interrupted},
	} {
		var out strings.Builder
		if err := printPanes(&out, []verbs.Pane{p}); err != nil || !strings.Contains(out.String(), " "+want+" ") {
			t.Errorf("%v, it does not say %q:\n%s", err, want, &out)
		}
	}
}
