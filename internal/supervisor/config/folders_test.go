// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"strings"
	"testing"

	"spawn/internal/supervisor/config"
)

func TestFoldersFollowTheVariables(t *testing.T) {
	cases := []struct {
		name string
		env  map[string]string
		home string
		want config.Folders
		err  error
	}{
		{"only a home", nil, "/home/u", config.Folders{Config: "/home/u/.config/spawn", State: "/home/u/.local/state/spawn", Runtime: "/home/u/.config/spawn/run"}, nil},
		{"every variable", map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}, "/home/u",
			config.Folders{Config: "/c/spawn", State: "/s/spawn", Runtime: "/r/spawn"}, nil},
		{"every variable needs no home", map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}, "",
			config.Folders{Config: "/c/spawn", State: "/s/spawn", Runtime: "/r/spawn"}, nil},
		{"relative paths are ignored", map[string]string{"XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s", "XDG_RUNTIME_DIR": "r"}, "/home/u",
			config.Folders{Config: "/home/u/.config/spawn", State: "/home/u/.local/state/spawn", Runtime: "/home/u/.config/spawn/run"}, nil},
		{"no home", nil, "", config.Folders{}, config.ErrNoHome},
		{"relative home", map[string]string{"XDG_CONFIG_HOME": "/c"}, "u", config.Folders{}, config.ErrNoHome},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := config.Resolve(func(k string) string { return c.env[k] }, c.home)
			if !errors.Is(err, c.err) || got != c.want {
				t.Fatalf("Resolve = %+v, %v; want %+v, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestSocketPathAtTheLimit(t *testing.T) {
	const fixed = len("/") + len("/spawn/spawnd.sock")
	resolve := func(n int) (config.Folders, error) {
		dir := "/" + strings.Repeat("r", n-fixed)
		return config.Resolve(func(k string) string { return map[string]string{"XDG_RUNTIME_DIR": dir}[k] }, "/home/u")
	}
	if f, err := resolve(107); err != nil || len(f.ControlSocket()) != 107 {
		t.Fatalf("107 bytes: %d, %v", len(f.ControlSocket()), err)
	}
	if _, err := resolve(108); !errors.Is(err, config.ErrSocketPath) || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
		t.Fatalf("108 bytes: %v", err)
	}
}
