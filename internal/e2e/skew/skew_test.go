// SPDX-License-Identifier: Apache-2.0

//go:build linux

package skew

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/fleet"
)

// A terminal is launched by one build's fleet on one build's worker and taken over by a fleet of either. None may notice.
func TestWorkersAndFleetsOfTwoBuildsGetAlong(t *testing.T) {
	now, olds := generations(t)
	for _, old := range olds {
		for _, r := range routes(now, old) {
			t.Run(old.name+": "+r.name, func(t *testing.T) {
				folder := openFolder(t)
				id := endpoint.NewSessionID()
				ride(t, r.launcher, "launch", folder, r.worker, id)
				ride(t, r.adopter, "adopt", folder, r.worker, id)
				requireEmpty(t, folder)
			})
		}
	}
}

// route is who starts a terminal, on whose worker, and who finds it.
type route struct {
	name                      string
	launcher, worker, adopter generation
}

func routes(now, old generation) []route {
	return []route{
		{"the new on an old worker", now, old, now},
		{"the old on a new worker", old, now, old},
		{"upgrade", old, old, now},
		{"downgrade", now, now, old},
	}
}

// ride runs one leg in a process of its own, so that the fleet it has is that of its build.
func ride(t *testing.T, g generation, leg string, folder *endpoint.Folder, worker generation, id endpoint.SessionID) {
	t.Helper()
	if said, err := exec.Command(g.driver(), driveArg, leg, folder.Path(), worker.worker(), id.String()).CombinedOutput(); err != nil {
		t.Fatalf("fleet of %s, worker of %s: %v: %s", g.name, worker.name, err, said)
	}
}

// openFolder makes a worker folder and, at the end of the test, ends whatever a failure left in it.
func openFolder(t *testing.T) *endpoint.Folder {
	t.Helper()
	path, err := os.MkdirTemp("", "sk") // short: socket paths have a bound
	if err != nil {
		t.Fatal(err)
	}
	folder, err := endpoint.OpenFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		adopted, _, _ := fleet.New(fleet.Options{Folder: folder, WorkerPath: "/nowhere"}).AdoptAll(context.Background())
		for _, h := range adopted {
			h.Terminate(context.Background())
			h.Close()
		}
		folder.Close()
		os.RemoveAll(path)
	})
	return folder
}

// requireEmpty requires that a session which has ended leaves nothing.
func requireEmpty(t *testing.T, folder *endpoint.Folder) {
	t.Helper()
	ids, err := folder.Scan()
	if err != nil || len(ids) > 0 {
		t.Fatalf("reservations are left: %v, %v", ids, err)
	}
	entries, err := os.ReadDir(folder.Path())
	if err != nil || len(entries) > 0 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
}
