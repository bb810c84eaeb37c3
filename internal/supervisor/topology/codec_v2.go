// SPDX-License-Identifier: Apache-2.0

package topology

import "fmt"

// Version 2 knew nothing of what a pane's terminal was started with, nor of relaunches. All else is as it is now:
// whoever changes that has to keep here what it was.

// readV2 leaves panes without argv0.
func readV2(src []byte) (Tree, error) {
	t, err := readAs(src, func(Tree) int { return 2 })
	if err != nil {
		return Tree{}, err
	}
	for _, p := range t.Panes {
		if p.Argv0 != "" {
			return Tree{}, fmt.Errorf("pane %s has argv0, which is of version 3", p.ID)
		}
		if p.Relaunch != nil {
			return Tree{}, fmt.Errorf("pane %s is being relaunched, which is of version 4", p.ID)
		}
	}
	return t, nil
}
