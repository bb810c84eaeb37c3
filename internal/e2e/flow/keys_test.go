// SPDX-License-Identifier: Apache-2.0

//go:build linux

package flow

import (
	"fmt"
	"testing"
	"time"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

const (
	fullViewers = 20
	fullBytes   = 16 << 20 // which no queue holds
	// keysPromise is how many times as long one key in a hundred may take beside full viewers as alone. keysGate is the same
	// of every second key at the gate, where other tests run beside: what is rare comes from them there.
	keysPromise = 2
	keysGate    = 10
)

// floodThenEcho waits for a line, floods, and is then a terminal that echoes.
var floodThenEcho = fmt.Sprintf(`read x; yes %s | head -c %d; stty raw -echo; echo "the flood is over"; exec cat`, word, fullBytes)

// F17: who types beside viewers whose queues are full waits no longer for the echo than alone, one key here and one there.
func TestF17KeysBesideFullViewers(t *testing.T) {
	c := rig.Begin(t, "F17 keys beside full viewers")
	h := newHost(t)
	_, alone := h.flooded(0)
	pane, beside := h.flooded(fullViewers)
	list := h.Viewers(pane)
	for _, v := range list.Viewers {
		if v.Drops > 0 {
			c.Faults++
		}
	}
	if c.Faults < fullViewers {
		t.Errorf("of %d viewers that read nothing the flood has filled %d: %+v", fullViewers, c.Faults, list)
	}
	var took [2]rig.Times
	for i := range rig.Size(200, 2000) {
		for n, s := range []*dial.Stream{alone, beside} {
			began := time.Now()
			if err := echo(s, fmt.Sprintf("key %d;", i)); err != nil {
				t.Fatal(err)
			}
			took[n] = append(took[n], time.Since(began))
			c.Runs++
		}
	}
	percent, times := rig.Size(50, 99), time.Duration(rig.Size(keysGate, keysPromise))
	is, was := took[1].Percent(percent), took[0].Percent(percent)
	t.Logf("an echo took %v alone and %v beside them, p99 %v and %v", took[0].Percent(50), took[1].Percent(50), took[0].Percent(99), took[1].Percent(99))
	if is > times*was {
		t.Errorf("%d of 100 keys took up to %v beside full viewers, %v alone", percent, is, was)
	}
}

// flooded is a terminal that has flooded viewers who read nothing, and whoever types there.
func (h *host) flooded(viewers int) (pane string, typist *dial.Stream) {
	h.T.Helper()
	pane = h.start("/bin/sh", "-c", floodThenEcho)
	typist, _, err := h.Socket().Stream(h.T.Context(), verbs.PaneStreamParams{Pane: pane, Take: true})
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = typist.Close() })
	for i := range viewers {
		h.doze(h.T.Context(), pane, fmt.Sprint("dozer ", i), false, 0)
	}
	if err = typist.Input([]byte("\r")); err == nil {
		err = until(typist, "the flood is over")
	}
	if err != nil {
		h.T.Fatal(err)
	}
	return pane, typist
}
