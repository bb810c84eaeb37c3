// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"spawn/internal/sessiond/failpoint"
	"spawn/internal/supervisor"
	"spawn/internal/supervisor/loopback"
	"spawn/internal/version"
	"spawn/web"
)

func serveCommand() *cobra.Command {
	var listen string
	var peerPort uint16
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the terminals of this host",
		Long: `Serves the terminals of this host, adopting those that are alive.

The address to open is one line on standard output; everything else is log on standard error.
SIGTERM and SIGINT detach: terminals go on, and the next spawnd adopts them. The setting
shutdown.sessions = "terminate" makes them end every terminal instead; so does, once,
spawnd server shutdown --sessions terminate.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := startFlags{listen: listen}
			if _, err := loopback.Parse(listen); listen != "" && err != nil {
				return invalid(fmt.Errorf("--listen %s: %w", listen, err))
			}
			if cmd.Flags().Changed("peer-port") {
				flags.peerPort = &peerPort
			}
			return serve(cmd.Context(), flags, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "loopback address of the page; port 0 picks one (default: the settings file's, else 127.0.0.1:7717)")
	cmd.Flags().Uint16Var(&peerPort, "peer-port", 0, "port of the channels, for tunnels; 0 picks one (default: the settings file's)")
	return cmd
}

// startFlags win over the settings file.
type startFlags struct {
	listen   string  // "" when it was not given
	peerPort *uint16 // nil when it was not given
}

func serve(ctx context.Context, flags startFlags, out io.Writer) error {
	// A peer that has gone is an error of its write and no more. A signal besides would have the kernel save what was written last, from
	// registers, where nobody wipes it; and one for a log that nobody reads would end us.
	signal.Ignore(syscall.SIGPIPE)
	log := newLog()
	worker, err := workerPath()
	if err != nil {
		return err
	}
	s, err := supervisor.Open(ctx, supervisor.Options{
		Listen: flags.listen, PeerPort: flags.peerPort, Getenv: os.Getenv, Environ: os.Environ(), WorkerPath: worker, App: web.Dist(),
		Version: version.Version, Log: log,
	})
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
	failpoint.Pass(failpoint.Serving)
	if err == nil {
		err = s.Serve(ctx)
	}
	err = errors.Join(err, s.Close())
	log.Info("spawnd has ended")
	return err
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
		return path, fmt.Errorf("find spawn-worker beside spawnd: %w", err)
	}
	return path, nil
}
