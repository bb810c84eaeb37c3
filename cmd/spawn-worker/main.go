// SPDX-License-Identifier: Apache-2.0

// Command spawn-worker keeps one terminal session. It is started by spawnd, never by hand:
//
//	argv   spawn-worker --session-id ID --worker-dir DIR [--segment-bytes N] [--max-log-bytes N]
//	fd 0,1 /dev/null
//	fd 2   a pipe: its end of file with nothing in it means "ready", text is why the worker could not begin
//	fd 3   the session's lock file, locked
//	env    GODEBUG=asyncpreemptoff=1, lest a signal of the runtime leaves registers in memory, with text or key in them
//
// It says nothing after that; whoever wants to know connects to its socket.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"spawn/internal/sessiond"
	"spawn/internal/sessiond/endpoint"
	"spawn/internal/sessiond/failpoint"
	"spawn/internal/sessiond/scrollback"
	"spawn/internal/version"
)

const (
	exitFailed  = 1
	exitInvalid = 2

	// lockDescriptor is where spawnd puts the locked file.
	lockDescriptor = 3
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its surroundings passed in. Errors go to complaints, which is a pipe to spawnd until the worker is ready.
func run(args []string, out, complaints io.Writer) int {
	cfg, show, err := parse(args)
	if err != nil {
		fmt.Fprintln(complaints, "spawn-worker:", err)
		return exitInvalid
	}
	if show {
		fmt.Fprintln(out, "spawn-worker", version.Version)
		return 0
	}
	if err := work(cfg); err != nil {
		fmt.Fprintln(complaints, "spawn-worker:", err)
		return exitFailed
	}
	return 0
}

// work is the life of the process.
func work(cfg sessiond.Config) error {
	failpoint.Pass(failpoint.Began)
	if err := sessiond.Prepare(); err != nil {
		return err
	}
	failpoint.Pass(failpoint.Hardened)
	if err := takeDescriptor(&cfg); err != nil {
		return err
	}
	failpoint.Pass(failpoint.LockPassed)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg.Ready = fallSilent
	cfg.Processors = runtime.GOMAXPROCS
	return sessiond.Run(ctx, cfg)
}

// parse reads the command line. show asks for the version and nothing else.
func parse(args []string) (cfg sessiond.Config, show bool, err error) {
	flags := flag.NewFlagSet("spawn-worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it all, and usage is for people
	id := flags.String("session-id", "", "UUID of the session")
	flags.StringVar(&cfg.Folder, "worker-dir", "", "absolute path of the worker folder")
	// 0, which nobody can say, leaves the log's defaults.
	flags.IntVar(&cfg.SegmentBytes, "segment-bytes", 0, "charge of a scrollback segment")
	flags.IntVar(&cfg.MaxLogBytes, "max-log-bytes", 0, "charge of the whole scrollback")
	flags.BoolVar(&show, "version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		return cfg, false, err
	}
	if flags.NArg() > 0 {
		return cfg, false, fmt.Errorf("%d arguments that are no flags", flags.NArg())
	}
	if show {
		return cfg, true, nil
	}
	if cfg.SessionID, err = endpoint.ParseSessionID(*id); err != nil {
		return cfg, false, fmt.Errorf("--session-id: %w", err)
	}
	return cfg, false, check(cfg, flags)
}

func check(cfg sessiond.Config, flags *flag.FlagSet) (err error) {
	if !filepath.IsAbs(cfg.Folder) {
		return errors.New("--worker-dir: not an absolute path")
	}
	bounds := map[string]int{"segment-bytes": cfg.SegmentBytes, "max-log-bytes": cfg.MaxLogBytes}
	flags.Visit(func(f *flag.Flag) {
		if n, ok := bounds[f.Name]; ok && (n < 1 || n > scrollback.MaxLogBytes) {
			err = fmt.Errorf("--%s: %d is not between 1 and %d", f.Name, n, scrollback.MaxLogBytes)
		}
	})
	return err
}
