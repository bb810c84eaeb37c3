// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"spawn/packaging/systemd"
)

const lingerAdvice = `
Terminals end when systemd ends your user manager, and that happens when you log out, unless you say:

    loginctl enable-linger %s

With lingering the manager starts at boot and stays; your terminals outlive your logins.
`

func installServiceCommand() *cobra.Command {
	var writeOnly bool
	cmd := &cobra.Command{
		Use:   "install-service",
		Short: "Write, enable and start the systemd user unit",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := writeUnit()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", path)
			if !writeOnly {
				if err := enableUnit(cmd.Context(), cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), lingerAdvice, userName())
			return nil
		},
	}
	cmd.Flags().BoolVar(&writeOnly, "write-only", false, "write the unit and stop there")
	return cmd
}

// writeUnit puts the unit, with the path of this very binary, where the user manager looks.
func writeUnit() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	text, err := systemd.Unit(self)
	if err != nil {
		return "", err
	}
	configHome, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	folder := filepath.Join(configHome, "systemd", "user")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("create %s: %w", folder, err)
	}
	path := filepath.Join(folder, systemd.UnitName)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}

func enableUnit(ctx context.Context, out io.Writer) error {
	for _, args := range [][]string{{"--user", "daemon-reload"}, {"--user", "enable", "--now", systemd.UnitName}} {
		said, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput()
		if err != nil {
			return unavailable(fmt.Errorf("systemctl %s: %w: %s (the unit is written; is there a systemd user manager?)",
				strings.Join(args, " "), err, strings.TrimSpace(string(said))))
		}
	}
	fmt.Fprintln(out, "enabled and started; `systemctl --user status spawnd` shows it, `spawnd pair` prints the address")
	return nil
}

func userName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "$USER"
}
