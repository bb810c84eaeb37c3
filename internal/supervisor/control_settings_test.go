// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/verbs"
)

// settingsServer has settings and nothing else. There is no file yet.
func settingsServer(t *testing.T) (s verbServer, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config.hujson")
	live, err := config.OpenLive(config.OpenFile(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	return verbServer{&Supervisor{o: Options{Log: slog.New(slog.DiscardHandler)}, settings: live, inForce: live.Effective}}, path
}

// refusing is a room that never gets ready.
type refusing struct{}

func (refusing) Prepare(context.Context, config.Config) (activate, discard func(), err error) {
	return nil, nil, errors.New("the store is not there")
}

func TestAReloadThatARoomRefusesChangesNothing(t *testing.T) {
	s, _ := settingsServer(t)
	if _, err := s.SetConfig(t.Context(), verbs.ConfigSetParams{Path: "terminal.cols", Value: "100"}); err != nil {
		t.Fatal(err)
	}
	s.settings.Subscribe(refusing{})
	_, err := s.ReloadConfig(t.Context(), verbs.Empty{})
	if refused := (*verbs.Error)(nil); !errors.As(err, &refused) || refused.Code != verbs.CodeNotInForce {
		t.Errorf("ReloadConfig: %v", err)
	}
	if cols, _ := s.inForce.terminalSize(); cols != 80 {
		t.Errorf("%d columns are in force", cols)
	}
}

// A fault is told by its place, and never by what stands there: it may be a secret in the wrong line.
func TestFaultsAreToldWithoutTheirValues(t *testing.T) {
	s, path := settingsServer(t)
	const secret = "hunter2-4711"
	if err := os.WriteFile(path, []byte(`{"shell": {"command": ["`+secret+`"], "integration": "`+secret+`"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := s.CheckConfig(t.Context(), verbs.Empty{})
	if err != nil || found.OK || len(found.Problems) != 2 || found.Problems[0].Line != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	_, reloadErr := s.ReloadConfig(t.Context(), verbs.Empty{})
	_, setErr := s.SetConfig(t.Context(), verbs.ConfigSetParams{Path: "shell.command", Value: `["` + secret + `"]`})
	for _, err := range []error{reloadErr, setErr} {
		if refused := (*verbs.Error)(nil); !errors.As(err, &refused) || refused.Code != verbs.CodeSetting {
			t.Errorf("error %v", err)
		}
	}
	if told := fmt.Sprint(found, reloadErr, setErr); strings.Contains(told, secret) {
		t.Errorf("it is told: %s", told)
	}
}

// What comes of a room as an error has one code, that its verb declares.
func TestErrorsOfSettingsHaveTheirCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		verb string
		code verbs.Code
	}{
		{config.Problems{{Message: "x"}}, verbs.ConfigReload, "invalid.setting"},
		{config.ErrUnknownKey, verbs.ConfigGet, "not_found.key"},
		{config.ErrUnsafeFile, verbs.ConfigCheck, "unavailable.settings"},
		{config.ErrUncertain, verbs.ConfigSet, "unavailable.settings"},
		{config.ErrChanged, verbs.ConfigSet, "conflict.settings"},
		{fmt.Errorf("%w: %w", config.ErrPrepare, context.DeadlineExceeded), verbs.ConfigReload, "unavailable.not_in_force"},
		{doctor.ErrUnknownCheck, verbs.Doctor, "not_found.check"},
		{context.DeadlineExceeded, verbs.Doctor, "unavailable.timeout"},
	} {
		told := (*verbs.Error)(nil)
		v, _ := verbs.Lookup(c.verb)
		if err := verbError(fmt.Errorf("do it: %w", c.err)); !errors.As(err, &told) || told.Code != c.code || !v.May(c.code) {
			t.Errorf("%v of %s is %v, want %s", c.err, c.verb, err, c.code)
		}
	}
}

// A run of all checks ends before its verb is given up.
func TestTheDoctorHasItsTime(t *testing.T) {
	v, _ := verbs.Lookup(verbs.Doctor)
	if long := v.Long(verbs.DoctorParams{}); long <= doctor.RunMax {
		t.Errorf("the verb has %v, and a run may take %v", long, doctor.RunMax)
	}
}
