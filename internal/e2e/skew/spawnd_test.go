// SPDX-License-Identifier: Apache-2.0

//go:build linux

package skew

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spawn/internal/e2e/rig"
)

func init() {
	runTests = func(m *testing.M) int {
		defer func() { os.RemoveAll(built.folder) }() // "" is none
		return rig.Main(m)
	}
}

// A terminal is started by one build's spawnd on one build's worker and, when that spawnd has been killed, found by a spawnd of
// either build. Each is asked by its own command line, as people do. At last a spawnd of this build holds all that the
// terminal shows and has shown against the generator's record.
func TestWorkersAndSpawndsOfTwoBuildsGetAlong(t *testing.T) {
	now, olds := generations(t)
	seed := rig.Seed(t)
	for _, old := range olds {
		trees := map[string]int{} // version of the tree's file, by who wrote it
		for _, r := range routes(now, old) {
			t.Run(old.name+": "+r.name, func(t *testing.T) {
				h := rig.NewHostOf(t, pair(t, r.launcher, r.worker))
				d := h.Serve()
				load, argv := h.PrepareScript(rig.Script{Seed: seed}, rig.LinesPerSecond)
				pane := open(h, argv)
				if said, code := h.Run("pane", "wait", "--pane", pane.ID, "--text", "L000000010"); code != 0 {
					t.Fatalf("the load shows nothing: %s", said)
				}
				trees[r.launcher.name] = treeVersion(h)
				if was, ok := trees[r.adopter.name]; ok && r.adopter != now && was != trees[r.launcher.name] {
					t.Skipf("the earlier spawnd keeps its tree in version %d: it cannot read what this one wrote, and says so", was)
				}
				d.Kill()
				d = serveOf(h, pair(t, r.adopter, r.worker))
				requireFound(h, pane)
				if r.adopter != now {
					d.Kill()
					d = serveOf(h, pair(t, now, r.worker))
					requireFound(h, pane)
				}
				load.Pane = h.Pane(pane.ID)
				f := h.Follow(load, rig.History)
				rig.Await(t, "live bytes", func() bool { return f.Checked() > 0 || f.Ended() })
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				if checked, err := f.Wait(); err != nil || checked == 0 {
					t.Errorf("%d bytes compared, %v", checked, err)
				}
				h.Settle(load)
				h.CloseAll()
				d.Stop()
				h.AwaitNothingLeft()
			})
		}
	}
}

// pair is a folder with the spawnd of one build beside the worker of another.
func pair(t *testing.T, spawnd, worker generation) string {
	t.Helper()
	folder, err := os.MkdirTemp(built.folder, "pair")
	if err != nil {
		t.Fatal(err)
	}
	for path, name := range map[string]string{filepath.Join(spawnd.folder, "spawnd"): "spawnd", worker.worker(): "spawn-worker"} {
		if err := os.Link(path, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func serveOf(h *rig.Host, programs string) *rig.Daemon {
	h.T.Helper()
	h.Programs = programs
	return h.Serve()
}

// terminal is what every build says of one.
type terminal struct {
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	PID       int    `json:"pid"`
	State     string `json:"state"`
}

// ask runs a command of the spawnd that serves, whose result is one line of JSON. It need not be one of this build.
func ask(h *rig.Host, result any, args ...string) {
	h.T.Helper()
	said, code := h.Run(args...)
	if code != 0 {
		h.T.Fatalf("spawnd %s: exit code %d: %s", strings.Join(args, " "), code, said)
	}
	if err := json.Unmarshal([]byte(said), result); err != nil {
		h.T.Fatalf("spawnd %s: %v in %.200q", strings.Join(args, " "), err, said)
	}
}

func open(h *rig.Host, argv []string) terminal {
	h.T.Helper()
	var r struct {
		Pane terminal `json:"pane"`
	}
	ask(h, &r, append([]string{"pane", "new", "--json", "--cols", "80", "--rows", "24", "--cwd", h.Dir, "--"}, argv...)...)
	return r.Pane
}

// requireFound wants the spawnd that serves to know the terminal as it was, and to have all of its history from the worker.
func requireFound(h *rig.Host, pane terminal) {
	h.T.Helper()
	var list struct {
		Panes []terminal `json:"panes"`
	}
	ask(h, &list, "pane", "list", "--json")
	if len(list.Panes) != 1 || list.Panes[0] != pane {
		h.T.Fatalf("%+v has become %+v", pane, list.Panes)
	}
	said, code := h.Run("pane", "capture", "--pane", pane.ID, "--part", "all", "--json")
	if first := strings.Index(said, "L000000000 "); code != 0 || first < 0 || strings.Index(said, "L000000010 ") < first {
		h.T.Errorf("a capture of all is %d, %.200q", code, said)
	}
}

// treeVersion is the version of the file in which the spawnd keeps its tree.
func treeVersion(h *rig.Host) int {
	h.T.Helper()
	text, err := os.ReadFile(filepath.Join(h.Dir, "r", "spawn", "topology.json"))
	if err != nil {
		h.T.Fatal(err)
	}
	var tree struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		h.T.Fatal(err)
	}
	return tree.Version
}
