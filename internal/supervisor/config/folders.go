// SPDX-License-Identifier: Apache-2.0

// Package config is what a person decides about spawnd: where its files are, and the settings in one of them.
package config

import (
	"errors"
	"fmt"
	"path/filepath"
)

// socketPathMax is the longest path, in bytes, that bind and connect take on Linux: sun_path holds 108
// bytes and the last is the terminating NUL.
const socketPathMax = 107

var (
	// ErrNoHome means that no absolute home folder is known and a XDG variable that would replace it is
	// not set either.
	ErrNoHome = errors.New("no home folder: set HOME, or the XDG variables")
	// ErrSocketPath means that the control socket's path is longer than the system takes.
	ErrSocketPath = errors.New("path too long for a socket")
)

// Folders are the places of one instance of spawnd. They follow the XDG base folder rules, so two
// instances with different variables share nothing.
type Folders struct {
	Config  string // settings: kept and backed up
	State   string // host key, paired devices: what is worth keeping over a reboot
	Runtime string // sockets, locks and topology.json: meaningless after a reboot, on tmpfs where there is one
}

// Resolve names the folders for a user with that home. It touches no file. A relative path in a XDG
// variable is ignored, as the XDG rules ask for; so is an empty one.
func Resolve(getenv func(string) string, home string) (Folders, error) {
	configHome, err := base(getenv, "XDG_CONFIG_HOME", home, ".config")
	if err != nil {
		return Folders{}, err
	}
	stateHome, err := base(getenv, "XDG_STATE_HOME", home, ".local/state")
	if err != nil {
		return Folders{}, err
	}
	f := Folders{Config: filepath.Join(configHome, "spawn"), State: filepath.Join(stateHome, "spawn")}
	f.Runtime = filepath.Join(f.Config, "run")
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		f.Runtime = filepath.Join(dir, "spawn")
	}
	if socket := f.ControlSocket(); len(socket) > socketPathMax {
		return Folders{}, fmt.Errorf("resolve control socket %s (%d bytes, at most %d; set XDG_RUNTIME_DIR to a shorter folder): %w",
			socket, len(socket), socketPathMax, ErrSocketPath)
	}
	return f, nil
}

// base is the variable's folder when it is absolute, else the named folder below home.
func base(getenv func(string) string, variable, home, below string) (string, error) {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return dir, nil
	}
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("resolve %s: %w", variable, ErrNoHome)
	}
	return filepath.Join(home, below), nil
}

// ControlSocket is the path of the socket on which spawnd takes verbs.
func (f Folders) ControlSocket() string { return filepath.Join(f.Runtime, "spawnd.sock") }

// Lock is the path of the file whose flock makes an instance the only one on its runtime folder.
func (f Folders) Lock() string { return filepath.Join(f.Runtime, "spawnd.lock") }

// Topology is the path of the file with names, ids and the arrangement of panes.
func (f Folders) Topology() string { return filepath.Join(f.Runtime, "topology.json") }

// ShellScripts is the folder of the scripts by which shells mark their prompts, in the runtime folder.
func (f Folders) ShellScripts() string { return filepath.Join(f.Runtime, "shell") }

// Create makes all folders, private to the user. It is safe to call again.
func (f Folders) Create() error {
	for _, path := range []string{f.Config, f.State, f.Runtime} {
		if err := CreatePrivate(path); err != nil {
			return err
		}
	}
	return nil
}
