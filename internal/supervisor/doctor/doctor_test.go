// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/config"
)

func TestAllIsWell(t *testing.T) {
	_, e := newHouse()
	report := Run(t.Context(), e)
	for _, r := range report.Results {
		if r.Status != OK || r.Message == "" || r.Remedy != "" {
			t.Errorf("%+v", r)
		}
	}
	if report.Status != OK || len(report.Results) != len(checks) {
		t.Errorf("%s, %d of %d checks", report.Status, len(report.Results), len(checks))
	}
}

func TestTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks {
		if seen[c.Name] || c.Why == "" || c.Remedy == "" || c.Probe == nil {
			t.Errorf("%q is listed twice, or lacks something", c.Name)
		}
		seen[c.Name] = true
		if !slices.ContainsFunc(symptoms, func(s symptom) bool { return s.check == c.Name && (s.status == Warn || s.status == Error) }) {
			t.Errorf("%s: no symptom shows that it can find something", c.Name)
		}
	}
}

type symptom struct {
	name, check string
	do          func(*house, *Env)
	status      Status
	says        string
}

func folderOf(path string, st FileStat) func(*house, *Env) {
	return func(h *house, _ *Env) { h.files[path] = st }
}

// withLimits is a machine on which the settings' limits of terminals are in force, with a change.
func withLimits(change func(*house, *Env)) func(*house, *Env) {
	return func(h *house, e *Env) {
		e.Effective.Terminal.MemoryMaxBytes, e.Effective.Terminal.TasksMax, e.Effective.Terminal.CPUWeight = 1<<30, 512, 50
		h.texts["/sys/fs/cgroup/cgroup.controllers"] = "cpuset cpu io memory pids\n"
		for file, text := range map[string]string{"memory.max": "1073741824\n", "pids.max": "512\n", "cpu.weight": "50\n"} {
			h.texts["/sys/fs/cgroup"+workerGroup+"/"+file] = text
		}
		change(h, e)
	}
}

var symptoms = []symptom{
	{"faulty", "settings.file", func(h *house, _ *Env) {
		h.settings = config.CheckResult{File: "/c/config.hujson", Problems: config.Problems{{Path: "x", Line: 2, Column: 3, Message: "unknown"}}}
	}, Error, "line 2, column 3: x: unknown"},
	{"unsafe", "settings.file", func(h *house, _ *Env) { h.unread = errBroken }, Error, "it is broken"},
	{"reload failed", "settings.file", func(h *house, _ *Env) { h.outcome = config.Outcome{Error: "no room"} }, Error, "last reload failed: no room"},
	{"waits for a restart", "settings.file", func(h *house, _ *Env) { h.outcome.NeedsRestart = []string{"serve.listen"} }, Info, "serve.listen"},

	{"absent", "folder.config", func(h *house, _ *Env) { delete(h.files, "/c") }, Info, "not there yet"},
	{"other owner", "folder.config", folderOf("/c", FileStat{8, 8, fs.ModeDir | 0o700}), Error, "belongs to uid 8"},
	{"a link", "folder.config", func(h *house, _ *Env) { h.links["/c"] = FileStat{7, 7, fs.ModeSymlink | 0o777} }, Error, "a link"},
	{"a file", "folder.state", folderOf("/s", FileStat{7, 7, 0o700}), Error, "not a folder"},
	{"open to a group", "folder.state", folderOf("/s", FileStat{7, 7, fs.ModeDir | 0o750}), Error, "0750"},
	{"above it another", "folder.runtime", folderOf("/", FileStat{8, 8, fs.ModeDir | 0o755}), Error, "above belongs to uid 8"},
	{"above it everybody", "folder.runtime", folderOf("/", FileStat{0, 0, fs.ModeDir | 0o777}), Error, "swap"},
	{"above it a group", "folder.runtime", folderOf("/", FileStat{0, 9, fs.ModeDir | 0o775}), Error, "group 9 may swap"},
	{"above it a group of its owner alone", "folder.runtime", folderOf("/", FileStat{7, 7, fs.ModeDir | 0o775}), OK, "in memory"},
	{"above it sticky", "folder.runtime", folderOf("/", FileStat{0, 0, fs.ModeDir | fs.ModeSticky | 0o777}), OK, "in memory"},
	{"on a disk", "folder.runtime", func(h *house, _ *Env) { h.spaces["/r"] = Space{1 << 30, false} }, Warn, "on a disk"},
	{"cannot be looked at", "folder.workers", func(h *house, _ *Env) { delete(h.spaces, "/w") }, Error, "statfs"},

	{"little room", "space.state", func(h *house, _ *Env) { h.spaces["/s"] = Space{Free: spaceWarn - 1} }, Warn, "127 MiB"},
	{"no room", "space.state", func(h *house, _ *Env) { h.spaces["/s"] = Space{Free: spaceFail - 1} }, Error, "3 MiB"},
	{"no room for names", "space.runtime", func(h *house, _ *Env) { h.spaces["/r"] = Space{} }, Error, "0 MiB"},
	{"no room for logs", "space.workers", func(h *house, _ *Env) { h.spaces["/w"] = Space{} }, Error, "0 MiB"},
	{"not there", "space.workers", func(h *house, _ *Env) { delete(h.spaces, "/w") }, Info, "not there yet"},

	{"no systemd", "systemd.unit", func(h *house, _ *Env) { delete(h.files, bootedFolder) }, Info, "no systemd"},
	{"no spawnd", "systemd.unit", func(_ *house, e *Env) { e.Daemon = nil }, Info, "does not run"},
	{"by hand", "systemd.unit", func(h *house, _ *Env) { h.texts["/proc/100/cgroup"] = "0::/user.slice/session-1.scope\n" }, Info, "not run as a service"},
	{"ends its group", "systemd.unit", func(h *house, _ *Env) { h.said = "control-group\n" }, Warn, `"control-group"`},
	{"ends terminals", "systemd.unit", func(h *house, _ *Env) {
		h.said = "mixed\n"
		h.texts["/proc/101/cgroup"] = h.texts["/proc/100/cgroup"]
	}, Error, "ends 1 terminal"},
	{"does not tell", "systemd.unit", func(h *house, _ *Env) { h.saidErr = errBroken }, Warn, "it is broken"},

	{"no systemd", "systemd.linger", func(h *house, _ *Env) { delete(h.files, bootedFolder) }, Info, "no systemd"},
	{"off", "systemd.linger", func(h *house, _ *Env) { delete(h.files, lingerFolder+"/ada") }, Warn, "off"},
	{"no name", "systemd.linger", func(_ *house, e *Env) { e.Account.Name = "" }, Warn, "no name"},
	{"a name that is a path", "systemd.linger", func(_ *house, e *Env) { e.Account.Name = "../ada" }, Warn, "no name"},
	{"of the system", "systemd.linger", func(h *house, _ *Env) {
		delete(h.files, lingerFolder+"/ada")
		h.texts["/proc/100/cgroup"] = "0::/system.slice/spawnd.service\n"
	}, OK, "service of the system"},

	{"no spawnd", "worker.scope", func(_ *house, e *Env) { e.Daemon = nil }, Info, "does not run"},
	{"no terminal", "worker.scope", func(_ *house, e *Env) { e.Daemon.Workers = nil }, Info, "no terminal"},
	{"with spawnd", "worker.scope", func(h *house, _ *Env) { h.texts["/proc/101/cgroup"] = h.texts["/proc/100/cgroup"] }, Warn, "1 terminal without a scope of its own, 1 of them in the control group of spawnd"},
	{"another's scope", "worker.scope", func(h *house, _ *Env) { h.texts["/proc/101/cgroup"] = "0::/spawn-worker-b.scope\n" }, Warn, "0 of them in the control group of spawnd"},
	{"no systemd", "worker.scope", func(h *house, _ *Env) {
		delete(h.files, bootedFolder)
		h.texts["/proc/101/cgroup"] = h.texts["/proc/100/cgroup"]
	}, Info, "1 terminal in the control group"},
	{"two hierarchies", "worker.scope", func(h *house, _ *Env) {
		h.texts["/proc/101/cgroup"] = "2:cpu:/\n1:name=systemd:" + workerGroup + "\n0::/\n"
	}, OK, "in a scope of its own"},
	{"two hierarchies, the old one unused", "worker.scope", func(h *house, _ *Env) {
		h.texts["/proc/101/cgroup"] = "2:cpu:/\n1:name=systemd:/\n0::" + workerGroup + "\n"
	}, OK, "in a scope of its own"},

	{"none wanted", "worker.limits", func(_ *house, e *Env) { e.Daemon = nil }, OK, "limit no terminal"},
	{"without systemd", "worker.limits", func(h *house, e *Env) {
		delete(h.files, bootedFolder)
		e.Effective.Terminal.TasksMax = 100
	}, Warn, "nothing does"},
	{"no spawnd", "worker.limits", withLimits(func(_ *house, e *Env) { e.Daemon = nil }), Info, "does not run"},
	{"no terminal", "worker.limits", withLimits(func(_ *house, e *Env) { e.Daemon.Workers = nil }), Info, "no terminal"},
	{"version 1", "worker.limits", withLimits(func(h *house, _ *Env) { delete(h.texts, "/sys/fs/cgroup/cgroup.controllers") }), Info, "not looked at"},
	{"in force", "worker.limits", withLimits(func(*house, *Env) {}), OK, "1 terminal limited"},
	{"the usual weight", "worker.limits", withLimits(func(h *house, e *Env) {
		e.Effective.Terminal.CPUWeight = 100
		delete(h.texts, "/sys/fs/cgroup"+workerGroup+"/cpu.weight")
	}), OK, "1 terminal limited"},
	{"no cpu controller", "worker.limits", withLimits(func(h *house, _ *Env) { delete(h.texts, "/sys/fs/cgroup"+workerGroup+"/cpu.weight") }), Warn,
		"1 of 1 terminal without a limit of the settings: a (terminal.cpu_weight: no controller)"},
	{"without the limits", "worker.limits", withLimits(func(h *house, _ *Env) {
		h.texts["/sys/fs/cgroup"+workerGroup+"/memory.max"] = "max\n"
		h.texts["/sys/fs/cgroup"+workerGroup+"/pids.max"] = "max\n"
	}), Warn, "a (terminal.memory_max_bytes, terminal.tasks_max)"},
	{"the weight of everybody", "worker.limits", withLimits(func(h *house, _ *Env) { h.texts["/sys/fs/cgroup"+workerGroup+"/cpu.weight"] = "100\n" }), Warn, "a (terminal.cpu_weight)"},
	{"many", "worker.limits", withLimits(func(h *house, e *Env) {
		h.texts["/sys/fs/cgroup"+workerGroup+"/pids.max"] = "max\n"
		for range unlimitedMax {
			e.Daemon.Workers = append(e.Daemon.Workers, e.Daemon.Workers[0])
		}
	}), Warn, "9 of 9 terminals without a limit of the settings, a (terminal.tasks_max)"},
	{"no group", "worker.limits", withLimits(func(h *house, _ *Env) { delete(h.texts, "/proc/101/cgroup") }), Warn, "what limits 1 of 1 terminal cannot be read"},

	{"not locked", "worker.key", func(_ *house, e *Env) { e.Daemon.Workers[0].Capabilities = nil }, Warn, "1 of 1"},
	{"small limit", "worker.key", func(h *house, e *Env) { h.limits[LockedMemory], e.Daemon = [2]uint64{0, 0}, nil }, Warn, "only 0 bytes"},
	{"no limit told", "worker.key", func(h *house, e *Env) { delete(h.limits, LockedMemory); e.Daemon = nil }, Info, "does not tell"},
	{"no spawnd", "worker.key", func(_ *house, e *Env) { e.Daemon = nil }, OK, "may be locked"},

	{"older", "worker.version", func(_ *house, e *Env) { e.Daemon.Workers[0].Capabilities = nil }, Info, "1 of 1"},
	{"not locked", "worker.version", func(_ *house, e *Env) { e.Daemon.Workers[0].Capabilities = wire.Capabilities() }, OK, "1 terminal"},
	{"not known", "worker.version", func(h *house, _ *Env) { h.hatch = errBroken }, Error, "it is broken"},
	{"refused", "worker.version", func(_ *house, e *Env) {
		e.Daemon.Workers = append(e.Daemon.Workers, Worker{Session: "b", Refused: "version_skew"})
	}, Warn, "b (version_skew)"},
	{"no terminal", "worker.version", func(_ *house, e *Env) { e.Daemon.Workers = nil }, Info, "no terminal"},
	{"no spawnd", "worker.version", func(_ *house, e *Env) { e.Daemon = nil }, Info, "does not run"},

	{"few", "limit.files", func(h *house, _ *Env) { h.limits[OpenFiles] = [2]uint64{256, 256} }, Warn, "256"},
	{"not told", "limit.files", func(h *house, _ *Env) { delete(h.limits, OpenFiles) }, Info, "does not tell"},
	{"few processes", "limit.tasks", func(h *house, _ *Env) { h.limits[Processes] = [2]uint64{100, 100} }, Warn, "100 processes"},
	{"few, but root", "limit.tasks", func(h *house, e *Env) { h.limits[Processes], e.Account.UID = [2]uint64{100, 100}, 0 }, OK, "100"},
	{"not told", "limit.tasks", func(h *house, _ *Env) { delete(h.limits, Processes) }, Info, "does not tell"},
	{"full group above", "limit.tasks", func(h *house, _ *Env) {
		h.texts["/sys/fs/cgroup"+daemonGroup+"/pids.max"] = "max\n"
		h.texts["/sys/fs/cgroup/user.slice/pids.max"] = "1000\n"
		h.texts["/sys/fs/cgroup/user.slice/pids.current"] = "990\n"
	}, Warn, "only 10 more"},
	{"overfull group of the old kind", "limit.tasks", func(h *house, _ *Env) {
		h.texts["/proc/100/cgroup"] = "3:pids:/a\n"
		h.texts["/sys/fs/cgroup/pids/a/pids.max"] = "10\n"
		h.texts["/sys/fs/cgroup/pids/a/pids.current"] = "11\n"
	}, Warn, "only 0 more"},
	{"few watches", "limit.inotify", func(h *house, _ *Env) { h.texts["/proc/sys/fs/inotify/max_user_watches"] = "100\n" }, Warn, "100 watches"},
	{"few instances", "limit.inotify", func(h *house, _ *Env) { h.texts["/proc/sys/fs/inotify/max_user_instances"] = "2\n" }, Warn, "2 instances"},
	{"none", "limit.inotify", func(h *house, _ *Env) { h.texts = nil }, Info, "no inotify"},

	{"no devpts", "pty.available", func(h *house, _ *Env) { h.opens = errBroken }, Error, "it is broken"},
	{"nearly all taken", "pty.available", func(h *house, _ *Env) { h.texts["/proc/sys/kernel/pty/nr"] = "4090\n" }, Warn, "4090 of 4096"},
	{"no shell", "shell.command", func(h *house, _ *Env) { delete(h.files, "/bin/sh") }, Error, "/bin/sh"},
	{"not a program", "shell.command", func(h *house, _ *Env) { h.files["/bin/sh"] = FileStat{Mode: 0o644} }, Error, "no program"},
	{"a folder", "shell.command", func(_ *house, e *Env) { e.Effective.Shell.Command = []string{"/"} }, Error, "no program"},

	{"never set", "clock.wall", func(h *house, _ *Env) { h.now = time.Unix(0, 0) }, Error, "1970-01-01"},
	{"set back", "clock.wall", func(h *house, _ *Env) { h.now = started.Add(-time.Hour) }, Warn, "set back by 2h0m0s"},
	{"slept", "clock.wall", func(h *house, _ *Env) { h.running = time.Minute }, Info, "59m0s ahead"},
	{"no spawnd", "clock.wall", func(_ *house, e *Env) { e.Daemon = nil }, OK, "2026-11-01 13:00:00"},

	{"no UDP", "network.peers", func(h *house, _ *Env) { h.loops["udp"] = errBroken }, Error, "UDP"},
	{"no TCP", "network.peers", func(h *house, _ *Env) { h.loops["tcp"] = errBroken }, Error, "TCP"},
	{"not reached", "network.peers", func(h *house, _ *Env) { h.reach = errBroken }, Error, "127.0.0.1:7718 cannot be reached"},
	{"no spawnd", "network.peers", func(h *house, e *Env) { e.Daemon, h.reach = nil, errBroken }, OK, "channels work on 127.0.0.1"},

	{"no spawnd", "network.origin", func(_ *house, e *Env) { e.Daemon = nil }, Info, "does not run"},
	{"elsewhere", "network.origin", func(_ *house, e *Env) { e.Daemon.Page = netip.MustParseAddrPort("10.0.0.1:1") }, Error, "others can reach it"},
	{"lets strangers in", "network.origin", func(h *house, _ *Env) {
		h.answer = func(string, string) (int, error) { return http.StatusOK, nil }
	}, Error, "host stranger.example"},
	{"lets strange pages in", "network.origin", func(h *house, _ *Env) {
		h.answer = func(host, origin string) (int, error) {
			if host == stranger || origin == "null" {
				return http.StatusForbidden, nil
			}
			return http.StatusOK, nil
		}
	}, Error, `origin "http://stranger.example"`},
	{"refuses its own", "network.origin", func(h *house, _ *Env) {
		h.answer = func(string, string) (int, error) { return http.StatusForbidden, nil }
	}, Error, "its own browser with 403"},
	{"silent", "network.origin", func(h *house, _ *Env) {
		h.answer = func(string, string) (int, error) { return 0, errBroken }
	}, Error, "does not answer"},

	{"died", "worker.canary", func(h *house, _ *Env) { h.canary = func(context.Context) error { return errBroken } }, Error, "it is broken"},
}

func TestEverySymptomIsFound(t *testing.T) {
	for _, s := range symptoms {
		t.Run(s.check+" "+s.name, func(t *testing.T) {
			h, e := newHouse()
			s.do(h, &e)
			r := only(t, e, s.check)
			if r.Status != s.status || !strings.Contains(r.Message, s.says) {
				t.Fatalf("%s: %q, want %s with %q", r.Status, r.Message, s.status, s.says)
			}
			if (r.Remedy != "") != (s.status == Warn || s.status == Error) {
				t.Errorf("remedy %q at %s", r.Remedy, r.Status)
			}
		})
	}
}

func TestTheUnitsOwnManagerIsAsked(t *testing.T) {
	for group, want := range map[string]string{
		daemonGroup:                      "systemctl --user show --property=KillMode --value spawnd.service",
		"/system.slice/my-spawn.service": "systemctl show --property=KillMode --value my-spawn.service",
	} {
		h, e := newHouse()
		h.texts["/proc/100/cgroup"] = "0::" + group + "\n"
		if only(t, e, "systemd.unit"); !slices.Equal(h.asked, []string{want}) {
			t.Errorf("%s: asked %q", group, h.asked)
		}
	}
}

func TestExtraChecksComeLast(t *testing.T) {
	_, e := newHouse()
	e.Extra = []Check{{Name: "recovery.store", Why: "w", Remedy: "r", Probe: func(context.Context, Env) Finding { return warn("old") }}}
	report := Run(t.Context(), e)
	last := report.Results[len(report.Results)-1]
	if last.Name != "recovery.store" || last.Status != Warn || last.Remedy != "r" || report.Status != Warn {
		t.Fatalf("%+v, %s", last, report.Status)
	}
	if _, err := Answer(t.Context(), e, Params{Checks: []string{"recovery.stores"}}); !errors.Is(err, ErrUnknownCheck) {
		t.Errorf("an unknown name: %v", err)
	}
}

// A probe that does not end, and one that ends late, hold up the run no longer than their time.
func TestDeadlinesHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := newHouse()
		release := make(chan struct{})
		e.Extra = []Check{
			{Name: "hangs", Within: time.Second, Probe: func(context.Context, Env) Finding { <-release; return ok("") }},
			{Name: "late", Probe: func(ctx context.Context, _ Env) Finding { <-ctx.Done(); return fail("%v", ctx.Err()) }},
		}
		began := time.Now()
		report, err := Answer(t.Context(), e, Params{Checks: []string{"hangs", "late", "clock.wall"}})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second+probeGrace+checkTimeout {
			t.Errorf("took %v", took)
		}
		for i, want := range []Status{Error, Error, OK} {
			if report.Results[i].Status != want {
				t.Errorf("%+v", report.Results[i])
			}
		}
		close(release)
		synctest.Wait()
	})
}

func TestTheTotalTimeHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := newHouse()
		for range 20 {
			e.Extra = append(e.Extra, Check{Name: "slow", Within: time.Hour, Probe: func(ctx context.Context, _ Env) Finding { <-ctx.Done(); return ok("") }})
		}
		began := time.Now()
		report := Run(t.Context(), e)
		if took := time.Since(began); took != totalTimeout {
			t.Errorf("took %v", took)
		}
		if last := report.Results[len(report.Results)-1]; last.Status != Error || !strings.Contains(last.Message, "not looked at") {
			t.Errorf("%+v", last)
		}
	})
}

func TestReports(t *testing.T) {
	h, e := newHouse()
	h.opens = errors.New("a \x1b[31mname\x1b[0m \"quoted\"")
	report, err := Answer(t.Context(), e, Params{Checks: []string{"pty.available", "shell.command"}})
	if err != nil {
		t.Fatal(err)
	}
	text := report.Text()
	for _, want := range []string{
		"error  pty.available       no terminal can be made: a \\x1b[31mname\\x1b[0m \"quoted\"\n", "do:  Mount devpts",
		"ok     shell.command       /bin/sh is there\n", "2 checks: 1 ok, 0 info, 0 warn, 1 error\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	one, err := Answer(t.Context(), e, Params{Checks: []string{"shell.command"}})
	if err != nil || !strings.Contains(one.Text(), "\n1 check: 1 ok,") {
		t.Errorf("%v\n%s", err, one.Text())
	}
	src, err := report.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := strictjson.Unmarshal(src, &back); err != nil || back.Status != Error || len(back.Results) != 2 {
		t.Errorf("%s: %v", src, err)
	}
}
