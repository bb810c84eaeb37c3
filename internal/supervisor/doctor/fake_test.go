// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/loginenv"
)

var (
	errBroken = errors.New("it is broken")
	started   = time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
)

const (
	workerGroup = "/user.slice/user@7.service/app.slice/app-spawn.slice/spawn-worker-a.scope"
	daemonGroup = "/user.slice/user@7.service/app.slice/spawnd.service"
)

// house is a machine on which all is well, until a test changes it.
type house struct {
	files    map[string]FileStat
	links    map[string]FileStat // as Lstat sees them, where that differs
	texts    map[string]string
	spaces   map[string]Space
	opens    error
	limits   map[Limit][2]uint64
	said     string
	saidErr  error
	asked    []string
	loops    map[string]error
	reach    error
	answer   func(host, origin string) (int, error)
	canary   func(context.Context) error
	hatch    error
	now      time.Time
	running  time.Duration
	settings config.CheckResult
	unread   error
	outcome  config.Outcome
}

func (h *house) Lstat(path string) (FileStat, error) {
	if st, ok := h.links[path]; ok {
		return st, nil
	}
	return h.Stat(path)
}

func (h *house) Stat(path string) (FileStat, error) {
	if st, ok := h.files[path]; ok {
		return st, nil
	}
	return FileStat{}, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

func (h *house) Read(path string) (string, error) {
	if text, ok := h.texts[path]; ok {
		return text, nil
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func (h *house) Space(path string) (Space, error) {
	if s, ok := h.spaces[path]; ok {
		return s, nil
	}
	return Space{}, &fs.PathError{Op: "statfs", Path: path, Err: fs.ErrNotExist}
}

func (h *house) Open(string) error { return h.opens }

func (h *house) Limit(l Limit) (soft, hard uint64, err error) {
	at, ok := h.limits[l]
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	return at[0], at[1], nil
}

func (h *house) Run(_ context.Context, name string, args ...string) (string, error) {
	h.asked = append(h.asked, name+" "+strings.Join(args, " "))
	return h.said, h.saidErr
}

func (h *house) Loop(_ context.Context, network string, _ netip.AddrPort) error {
	return h.loops[network]
}

func (h *house) Reach(context.Context, netip.AddrPort) error { return h.reach }

func (h *house) Ask(_ context.Context, _ netip.AddrPort, host, origin string) (int, error) {
	return h.answer(host, origin)
}

func (h *house) Survive(ctx context.Context) error { return h.canary(ctx) }

func (h *house) Capabilities(context.Context) ([]string, error) {
	return append(wire.Capabilities(), wire.CapLockedKey), h.hatch
}

func (h *house) Now() time.Time { return h.now }

func (h *house) Running() time.Duration { return h.running }

func (h *house) Check() (config.CheckResult, error) { return h.settings, h.unread }

func (h *house) LastOutcome() config.Outcome { return h.outcome }

func newHouse() (*house, Env) {
	private := FileStat{UID: 7, GID: 7, Mode: fs.ModeDir | 0o700}
	root := FileStat{UID: 0, GID: 0, Mode: fs.ModeDir | 0o755}
	page := netip.MustParseAddrPort("127.0.0.1:7717")
	h := &house{
		files: map[string]FileStat{
			"/c": private, "/s": private, "/r": private, "/w": private, "/": root, bootedFolder: root, lingerFolder + "/ada": {Mode: 0o644},
			"/bin/sh": {Mode: 0o755},
		},
		links: map[string]FileStat{},
		texts: map[string]string{
			"/proc/100/cgroup": "0::" + daemonGroup + "\n", "/proc/101/cgroup": "0::" + workerGroup + "\n",
			"/proc/sys/fs/inotify/max_user_watches": "524288\n", "/proc/sys/fs/inotify/max_user_instances": "128\n",
			"/proc/sys/kernel/pty/max": "4096\n", "/proc/sys/kernel/pty/nr": "3\n",
		},
		spaces:   map[string]Space{"/s": {1 << 40, false}, "/r": {1 << 30, true}, "/w": {1 << 30, true}},
		limits:   map[Limit][2]uint64{OpenFiles: {1024, 524288}, LockedMemory: {8 << 20, 8 << 20}, Processes: {Unlimited, Unlimited}},
		said:     "process\n",
		loops:    map[string]error{},
		canary:   func(context.Context) error { return nil },
		now:      started.Add(time.Hour),
		running:  time.Hour,
		settings: config.CheckResult{File: "/c/config.hujson", OK: true},
		outcome:  config.Outcome{OK: true},
	}
	h.answer = func(host, origin string) (int, error) {
		if host == page.String() && (origin == "" || origin == "http://"+page.String()) {
			return http.StatusOK, nil
		}
		return http.StatusForbidden, nil
	}
	return h, Env{
		Version: "v1", Account: loginenv.Account{Name: "ada", UID: 7, Home: "/home/ada", Shell: "/bin/sh"},
		Folders: config.Folders{Config: "/c", State: "/s", Runtime: "/r"}, WorkerDir: "/w",
		Effective: config.Default(), Settings: h,
		Daemon: &Daemon{PID: 100, Started: started, Page: page, Peers: netip.MustParseAddrPort("127.0.0.1:7718"), Workers: []Worker{
			{Session: "a", PID: 101, Scope: "spawn-worker-a.scope", Capabilities: append(wire.Capabilities(), wire.CapLockedKey)},
		}},
		Files: h, Limits: h, Commands: h, Network: h, Canary: h, Clock: h,
	}
}

// only runs one check.
func only(t *testing.T, e Env, name string) Result {
	t.Helper()
	report, err := Answer(t.Context(), e, Params{Checks: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	return report.Results[0]
}
