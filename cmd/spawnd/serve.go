// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"spawn/internal/supervisor"
	"spawn/internal/version"
	"spawn/web"
)

// defaultListen is fixed, because a browser keeps what it knows of a host by the address.
const defaultListen = "127.0.0.1:7717"

func serveCommand() *cobra.Command {
	var o supervisor.Options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the terminals of this host",
		Long: `Serves the terminals of this host, adopting those that are alive.

The address to open is one line on standard output; everything else is log on standard error.
SIGTERM and SIGINT detach: terminals go on, and the next spawnd adopts them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", defaultListen, "loopback address of the page; port 0 picks one")
	cmd.Flags().Uint16Var(&o.PeerPort, "peer-port", 0, "port of the channels, for tunnels; 0 picks one")
	cmd.Flags().Uint64Var(&o.Limits.MemoryMaxBytes, "memory-max", 0, "bytes of memory for each new terminal, under systemd; 0 is no limit")
	cmd.Flags().Uint64Var(&o.Limits.TasksMax, "tasks-max", 0, "processes and threads of each new terminal, under systemd; 0 is no limit")
	cmd.Flags().Uint64Var(&o.Limits.CPUWeight, "cpu-weight", 0, "CPU share of each new terminal, 1 to 10000, under systemd; 0 is the usual 100")
	return cmd
}

// serve fills in what is not said by flags.
func serve(ctx context.Context, o supervisor.Options, out io.Writer) error {
	log := newLog()
	worker, err := workerPath()
	if err != nil {
		return err
	}
	o.Getenv, o.Environ, o.WorkerPath, o.App = os.Getenv, os.Environ(), worker, web.Dist()
	o.Version, o.Log = version.Version, log
	s, err := supervisor.Open(ctx, o)
	if err != nil {
		return err
	}
	url, err := address(s)
	if err == nil {
		_, err = fmt.Fprintln(out, url)
	}
	if err == nil {
		err = notifyReady()
	}
	if err == nil {
		err = s.Serve(ctx)
	}
	log.Info("detached; terminals go on")
	return errors.Join(err, s.Close())
}

// address is what to open: with a pairing code for the person who has just typed the command, without one
// under systemd, where it would stay in the journal.
func address(s *supervisor.Supervisor) (string, error) {
	if os.Getenv("NOTIFY_SOCKET") != "" {
		return s.URL(), nil
	}
	return s.PairURL()
}

// newLog writes for people on a terminal and for machines elsewhere.
func newLog() *slog.Logger {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, nil))
}

// workerPath is spawn-worker beside this program: a pair from one build, never whatever PATH has.
func workerPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), "spawn-worker")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find spawn-worker beside spawnd: %w", err)
	}
	return path, nil
}
