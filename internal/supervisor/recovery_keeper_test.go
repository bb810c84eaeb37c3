// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/page"
	"spawn/internal/supervisor/recovery"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// kept is a keeper with a store, on a clock that the test sets, and panes without terminals.
type kept struct {
	*keeper
	*testing.T
	at      time.Time
	panes   *panes
	folders config.Folders
}

func newKept(t *testing.T) *kept {
	t.Helper()
	dir := t.TempDir()
	folders, err := config.Resolve(func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": dir + "/c", "XDG_STATE_HOME": dir + "/s", "XDG_RUNTIME_DIR": dir + "/r"}[name]
	}, dir)
	for _, folder := range []string{dir + "/r", dir + "/s"} {
		err = errors.Join(err, os.Mkdir(folder, 0o700))
	}
	if err = errors.Join(err, folders.Create()); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	k := &kept{keeper: newKeeper(log), T: t, folders: folders, at: time.Date(2026, 11, 6, 22, 0, 0, 0, time.UTC)}
	k.keeper.now = func() time.Time { return k.at }
	k.panes = &panes{
		store: topology.NewStore(filepath.Join(dir, "topology.json")), board: page.NewBoard(), log: log, keeper: k.keeper,
		inForce: config.Default, dirty: make(chan struct{}, 1),
	}
	k.panes.mu.byID = map[string]*pane{}
	k.panes.ctx, k.panes.cancel = context.WithCancel(t.Context())
	t.Cleanup(func() { k.panes.cancel(); k.panes.running.Wait() })
	p := recovery.DefaultPolicy()
	p.Enabled, p.Text, p.MaxAge, p.TextMaxAge = true, recovery.TextModePlain, 10*24*3600, 2*3600
	if err := k.open(folders, os.Getuid(), p, k.panes); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// A start that fails for what may lie in the store says where that is: whoever started spawnd is to look there.
func TestAStartThatFailsForTheStoreNamesIt(t *testing.T) {
	k := newKept(t)
	if err := os.Chmod(k.folder, 0o750); err != nil {
		t.Fatal(err)
	}
	off := recovery.DefaultPolicy()
	err := newKeeper(k.log).open(k.folders, os.Getuid(), off, k.panes)
	if !errors.Is(err, recovery.ErrIO) || !strings.Contains(err.Error(), k.folder+" ") {
		t.Errorf("it says %v, and the folder is %s", err, k.folder)
	}
}

// saved writes a checkpoint of one running terminal with text, as of now.
func (k *kept) saved() (id string, text recovery.Text) {
	k.Helper()
	now := recovery.MillisOf(k.at)
	text = recovery.Text{Availability: recovery.TextPlain, SavedAt: now, ExpiresAt: now.Plus(3 * 3600), Screen: []string{"what it showed"}}
	store, err := k.store()
	if err != nil {
		k.Fatal(err)
	}
	done, err := store.Publish(k.Context(), recovery.Checkpoint{
		CapturedAt: now, Shutdown: recovery.ShutdownOpen,
		Sessions: []recovery.Session{{ID: "s0", Name: "work"}},
		Windows:  []recovery.Window{{ID: "w0", Session: "s0", Revision: 1, Nodes: []recovery.Node{{Kind: recovery.NodePane, Pane: "p0"}}}},
		Panes:    []recovery.Pane{{ID: "p0", Window: "w0", Session: "s0", Cols: 20, Rows: 1, State: recovery.StateRunning, Text: text}},
	})
	if err != nil {
		k.Fatal(err)
	}
	return done.ID, text
}

// shown is what there is of the archive's text.
func (k *kept) shown() string {
	k.Helper()
	all := k.panes.archives()
	if len(all) != 1 {
		k.Fatalf("%d archives", len(all))
	}
	facts := all[0].archive.facts()
	rows, ok := all[0].archive.rows(k.policy())
	if !ok {
		k.Error("its text cannot be saved")
	}
	if blank := len(rows.Screen) == 0 || rows.Screen[0] == ""; blank != (facts.Recovery.TextState != recovery.TextPlain) {
		k.Errorf("it is %s and shows %q", facts.Recovery.TextState, rows.Screen)
	}
	return facts.Recovery.TextState
}

// jumps are what happens to a wall clock.
var jumps = map[string]func(time.Time) time.Time{
	"none":         func(t time.Time) time.Time { return t },
	"an hour back": func(t time.Time) time.Time { return t.Add(-time.Hour) },
	"an hour on":   func(t time.Time) time.Time { return t.Add(time.Hour) },
	"a day back":   func(t time.Time) time.Time { return t.AddDate(0, 0, -1) },
	"a day on":     func(t time.Time) time.Time { return t.AddDate(0, 0, 1) },
	"to 1970":      func(time.Time) time.Time { return time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC) },
	"to 2100":      func(time.Time) time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) },
}

// T76: wherever the clock jumps, a text is shown only between the moment at which it was saved and the one at which it is too
// old, never again behind that, and never for longer because it was saved again; a checkpoint is restored only between its own two.
func TestAClockThatJumpsMakesNothingYounger(t *testing.T) {
	for name, jump := range jumps {
		alive := func(k *kept, text recovery.Text) string {
			now := recovery.MillisOf(k.at)
			if now >= text.SavedAt && now < text.ExpiresAt && now < text.SavedAt.Plus(k.policy().TextMaxAge) {
				return recovery.TextPlain
			}
			return recovery.TextExpired
		}
		t.Run(name+", before a restore", func(t *testing.T) {
			k := newKept(t)
			id, text := k.saved()
			k.at = jump(k.at)
			now := recovery.MillisOf(k.at)
			_, err := k.restore(t.Context(), id, "owner")
			if usable := now >= text.SavedAt && now < text.SavedAt.Plus(k.policy().MaxAge); usable != (err == nil) || !usable && !errors.Is(err, recovery.ErrExpired) {
				t.Fatalf("at %v: %v", k.at, err)
			}
			if err == nil && k.shown() != alive(k, text) {
				t.Errorf("at %v the text is %s", k.at, k.shown())
			}
		})
		for _, look := range []struct {
			name string
			at   func(k *kept)
		}{
			{"attach", func(k *kept) { k.panes.expireTexts(k.keeper.now(), k.policy()) }},
			{"tick", func(k *kept) { k.tick(k.Context()) }},
			{"settings", func(k *kept) {
				p := k.policy()
				p.MaxCheckpoints++
				if err := k.govern(p); err != nil {
					k.Error(err)
				}
				k.panes.expireTexts(k.keeper.now(), p)
			}},
			{"checkpoint", func(k *kept) {
				done, err := k.request(k.Context())
				if err != nil {
					k.Fatal(err)
				}
				if done.TextPanes > 0 && k.shown() != recovery.TextPlain {
					k.Error("it has text that is too old")
				}
			}},
		} {
			t.Run(name+", before a "+look.name, func(t *testing.T) {
				k := newKept(t)
				id, text := k.saved()
				if _, err := k.restore(t.Context(), id, "owner"); err != nil {
					t.Fatal(err)
				}
				began := k.at
				k.at = jump(k.at)
				look.at(k)
				k.panes.expireTexts(k.keeper.now(), k.policy())
				want := alive(k, text)
				if got := k.shown(); got != want {
					t.Errorf("at %v the text is %s, want %s", k.at, got, want)
				}
				if at := k.wait(); at < 0 || at > tidyMax {
					t.Errorf("the next look is in %v", at)
				}
				k.at = began // and back
				k.panes.expireTexts(k.keeper.now(), k.policy())
				if got := k.shown(); got != want {
					t.Errorf("back again the text is %s, and was %s", got, want)
				}
				k.keepsTimes(text)
			})
		}
	}
}

// keepsTimes holds every text in the store to the times that it was saved with.
func (k *kept) keepsTimes(text recovery.Text) {
	k.Helper()
	entries, err := k.list()
	if err != nil {
		k.Fatal(err)
	}
	for _, e := range entries {
		c, err := k.read(e.ID)
		if errors.Is(err, recovery.ErrExpired) {
			continue
		}
		if err != nil {
			k.Fatal(err)
		}
		if got := c.Panes[0].Text; got.Availability == recovery.TextPlain && (got.SavedAt != text.SavedAt || got.ExpiresAt != text.ExpiresAt) {
			k.Errorf("saved again it has %+v, and had %+v", got, text)
		}
	}
}

// Whoever does not wait for a restore any more gets none of it, and so it is when spawnd ends; a checkpoint that nobody waits for
// is no failure of the store.
func TestWhatNobodyWaitsForIsNotDone(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	told := verbServer{&Supervisor{o: Options{Log: slog.New(slog.DiscardHandler)}}}
	for name, test := range map[string]struct {
		ctx  context.Context
		ends bool
		code verbs.Code
	}{
		"who asked has gone": {gone, false, verbs.CodeNoDaemon},
		"it takes too long":  {late, false, verbs.CodeTimeout},
		"spawnd ends":        {t.Context(), true, verbs.CodeNoDaemon},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKept(t)
			id, _ := k.saved()
			k.panes.mu.closing = test.ends
			_, err := k.restore(test.ctx, id, "owner")
			if refusal := (*verbs.Error)(nil); !errors.As(told.recoveryError(err), &refusal) || refusal.Code != test.code {
				t.Errorf("a restore: %v, told as %v", err, told.recoveryError(err))
			}
			if tree := k.panes.current(); !tree.Empty() || len(k.panes.mu.byID) != 0 {
				t.Errorf("there is %+v", tree)
			}
			if test.ends {
				return
			}
			_, err = k.request(test.ctx)
			if refusal := (*verbs.Error)(nil); !errors.As(told.recoveryError(err), &refusal) || refusal.Code != test.code {
				t.Errorf("a checkpoint: %v, told as %v", err, told.recoveryError(err))
			}
			if entries, err := k.list(); err != nil || len(entries) != 1 {
				t.Errorf("%v, %v", entries, err)
			}
			if _, err := k.restore(t.Context(), id, "owner"); err != nil {
				t.Errorf("asked again: %v", err)
			}
		})
	}
}
