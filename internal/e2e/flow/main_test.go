// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package flow shows with real processes that a viewer that does not keep up is nobody else's trouble.
package flow

import (
	"os"
	"testing"

	"spawn/internal/e2e/rig"
	"spawn/internal/supervisor/verbs"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }

// host is a spawnd that serves for as long as the test runs.
type host struct {
	*rig.Host
	daemon *rig.Daemon
}

// newHost starts spawnd. At the end of the test its panes are closed, it ends, and nothing may be left.
func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{Host: rig.NewHost(t)}
	h.daemon = h.Serve()
	t.Cleanup(func() {
		h.CloseAll()
		h.daemon.Stop()
		h.AwaitNothingLeft()
		if t.Failed() {
			t.Log(h.daemon.Log)
		}
	})
	return h
}

// start starts a program in a new pane and returns the pane's id.
func (h *host) start(argv ...string) string {
	h.T.Helper()
	return h.NewPane(verbs.PaneNewParams{Argv: argv, Cols: 80, Rows: 24}).ID
}
