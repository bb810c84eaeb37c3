// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"spawn/internal/supervisor/localattach"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

func attachCommand() *cobra.Command {
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "attach ID",
		Short: "Show a terminal in this one; " + detachHelp,
		Long: `Shows a terminal in this one, until it ends or you detach.

You take control of it, its size included, unless you only watch. ` + detachHelp + `.
The terminal goes on when you detach, when this connection breaks and when spawnd restarts.`,
		Args:              oneID,
		ValidArgsFunction: onePane,
		RunE: func(cmd *cobra.Command, args []string) error {
			return attach(cmd.Context(), args[0], readOnly, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "watch, and never type")
	return cmd
}

const detachHelp = "Ctrl-\\ then d detaches"

func attach(ctx context.Context, pane string, readOnly bool, messages io.Writer) error {
	socket, err := controlSocket()
	if err != nil {
		return err
	}
	outcome, err := localattach.Run(ctx, localattach.Options{
		In: os.Stdin, Out: os.Stdout, Retry: mayPass,
		Dial: func(ctx context.Context, cols, rows uint16) (localattach.Remote, error) {
			stream, _, err := socket.Stream(ctx, verbs.PaneStreamParams{
				Pane: pane, Cols: cols, Rows: rows, ReadOnly: readOnly, Take: !readOnly, Name: "attach on " + ttyName(),
			})
			return remote(stream), err
		},
	})
	if err != nil {
		return err
	}
	return report(outcome, pane, messages)
}

// remote keeps a nil stream from becoming an interface that is not nil.
func remote(s *dial.Stream) localattach.Remote {
	if s == nil {
		return nil
	}
	return s
}

// mayPass reports whether spawnd, restarting, may yet answer. An ended terminal does not come back.
func mayPass(err error) bool {
	var refusal *verbs.Error
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Code {
	case verbs.CodeNoDaemon, verbs.CodeBusy, verbs.CodeTimeout:
		return true
	}
	return false
}

func ttyName() string {
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil {
		return "a terminal"
	}
	return name
}

// report says how it ended. Only what is known to be a success is one.
func report(o localattach.Outcome, pane string, messages io.Writer) error {
	switch o.How {
	case localattach.Detached:
		fmt.Fprintf(messages, "detached from %s, which goes on\n", pane)
	case localattach.Exited:
		return reportExit(o, pane, messages)
	case localattach.Lost:
		return fmt.Errorf("%s is lost: its worker ended without a word, the status is unknown", pane)
	case localattach.Interrupted:
		return fmt.Errorf("interrupted by %s; %s goes on", o.Signal, pane)
	case localattach.HungUp:
		return fmt.Errorf("this terminal is gone; %s goes on", pane)
	case localattach.Unreachable:
		return unavailable(fmt.Errorf("spawnd has not come back; %s goes on", pane))
	}
	return nil
}

func reportExit(o localattach.Outcome, pane string, messages io.Writer) error {
	switch {
	case o.Exit.ExitCode != nil && *o.Exit.ExitCode == 0:
		fmt.Fprintf(messages, "%s has ended\n", pane)
		return nil
	case o.Exit.ExitCode != nil:
		return fmt.Errorf("%s has ended with %d", pane, *o.Exit.ExitCode)
	case o.Exit.Signal != "":
		return fmt.Errorf("%s was ended by %s", pane, o.Exit.Signal)
	}
	return fmt.Errorf("%s has ended, the status is unknown", pane)
}
