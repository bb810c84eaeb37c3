// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

// keys is the ground truth of what is typed: numbers, and a program that leaves in a file whatever reaches it.
type keys struct {
	pane   string
	path   string
	sent   int   // numbers
	begins []int // the first number that each connection sent
}

// keyFormat has one length for all numbers.
const (
	keyFormat = "%07d\n"
	keyBytes  = 8
	keyPace   = 2 * time.Millisecond
)

func startKeys(h *rig.Host) *keys {
	h.T.Helper()
	k := &keys{path: filepath.Join(h.Dir, "keys")}
	k.pane = h.NewPane(verbs.PaneNewParams{Argv: []string{"/bin/sh", "-c", "stty raw -echo; echo ready; exec cat >" + k.path}, Cols: 80, Rows: 24}).ID
	h.Call(verbs.PaneWait, verbs.PaneWaitParams{Pane: k.pane, Text: "ready", TimeoutMS: uint32(rig.Patience.Milliseconds())}, &verbs.PaneWaitResult{})
	return k
}

// press types one number after the other until spawnd is gone, for which the returned function waits.
func (k *keys) press(h *rig.Host) (wait func()) {
	h.T.Helper()
	s, _, err := h.Socket().Stream(h.T.Context(), verbs.PaneStreamParams{Pane: k.pane, Take: true})
	if err != nil {
		h.T.Fatal(err)
	}
	k.begins = append(k.begins, k.sent)
	var running sync.WaitGroup
	running.Go(func() {
		defer s.Close()
		pace := time.NewTicker(keyPace)
		defer pace.Stop()
		for s.Input(fmt.Appendf(nil, keyFormat, k.sent)) == nil {
			k.sent++
			<-pace.C
		}
		k.sent++ // the one that failed may have come all the same
	})
	return running.Wait
}

// settle types one number more and requires that it came, and that of each connection came all up to the one after which
// spawnd was killed: whatever is lost is the end of what was typed, and nothing comes twice or in another order.
func (k *keys) settle(h *rig.Host) {
	h.T.Helper()
	last := k.sent
	h.Type(k.pane, fmt.Sprintf(keyFormat, last))
	var came string
	rig.Await(h.T, "the last key", func() bool {
		text, err := os.ReadFile(k.path)
		if err != nil {
			h.T.Fatal(err)
		}
		came = string(text)
		return strings.HasSuffix(came, fmt.Sprintf(keyFormat, last))
	})
	if err := inOrder(came, append(k.begins, last)); err != nil {
		h.T.Errorf("of %d keys: %v", k.sent, err)
	}
}

// inOrder holds what came against what each connection began with: a number is followed by the next one, or by the first
// of a later connection.
func inOrder(came string, begins []int) error {
	if len(came)%keyBytes != 0 {
		return fmt.Errorf("%d bytes came, which are no whole keys", len(came))
	}
	next := 0
	for i := 0; i < len(came); i += keyBytes {
		n, err := strconv.Atoi(strings.TrimSuffix(came[i:i+keyBytes], "\n"))
		if err != nil {
			return fmt.Errorf("after %d came %q", next-1, came[i:i+keyBytes])
		}
		if n != next && (n < next || !slices.Contains(begins, n)) {
			return fmt.Errorf("%d came, and then %d", next-1, n)
		}
		next = n + 1
	}
	return nil
}

// What keys hold typing to: nothing is lost but the end of what a connection sent, and nothing comes twice.
func TestKeysThatComeInOrder(t *testing.T) {
	begins := []int{0, 5, 9}
	for _, c := range []struct {
		came []int
		ok   bool
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, true},
		{[]int{0, 1, 5, 6, 9}, true},
		{[]int{5, 6, 7, 8, 9}, true},
		{[]int{0, 1, 3, 4, 5}, false},
		{[]int{0, 1, 1, 2}, false},
		{[]int{0, 1, 5, 6, 5}, false},
		{[]int{0, 1, 5, 2}, false},
		{[]int{0, 6, 7}, false},
	} {
		var text strings.Builder
		for _, n := range c.came {
			fmt.Fprintf(&text, keyFormat, n)
		}
		if err := inOrder(text.String(), begins); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.came, err)
		}
		if inOrder(text.String()[1:], begins) == nil || inOrder("x"+text.String()[1:], begins) == nil {
			t.Errorf("%v passes without its first byte", c.came)
		}
	}
}
