// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"spawn/internal/supervisor/localattach"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

func attachCommand() *cobra.Command {
	var v visit
	var keys string
	cmd := &cobra.Command{
		Use:   "attach [ID]",
		Short: "Show a terminal in this one; " + detachHelp,
		Long: `Shows a terminal in this one, until it ends or you detach. The id is a pane's, or that of a window or a session,
which is its active pane. Without an id it is the pane that was used last; when there is none, one is started.

You take control of it, its size included, unless you only watch. ` + detachHelp + `.
The terminal that you sit in is none of them: it cannot be shown within itself.
Where you go becomes the active pane of its window; who looks at it elsewhere stays where they are.
The terminal goes on when you detach, when this connection breaks and when spawnd restarts. When it ends,
the next one of its session is shown, if there is one.

Keys behind Ctrl-\, or the one that --keys names:

  d      detach
  n p    the next window of the session, the one before
  0-9    the window with that number in the session
  ( )    the session before, the next one
  o      the next terminal in the window
  c      a new window, with your login shell
  ?      these keys, in one line at the foot of the screen

Ctrl-\ twice sends it once.`,
		Args:              anID,
		ValidArgsFunction: onePane,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				v.pane = args[0]
			}
			if keys != "" {
				var err error
				if v.keys, err = localattach.ParseKeys(keys); err != nil {
					return invalid(fmt.Errorf("--keys: %w", err))
				}
			}
			return v.run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&v.readOnly, "read-only", false, "watch, and never type")
	cmd.Flags().StringVar(&keys, "keys", "", "the keys that detach, such as ctrl-] or \"ctrl-a d\"; the first is the one before all others (default: "+localattach.DefaultKeys+")")
	cmd.Flags().BoolVar(&v.one, "one", false, "end with the terminal, whatever else there is")
	return cmd
}

const detachHelp = "Ctrl-\\ then d detaches"

// visit is one attach.
type visit struct {
	socket        dial.Socket
	pane          string // where to begin; "" for the one that was used last
	own           string // pane that we are in ourselves; "" for none
	readOnly, one bool
	keys          localattach.Keys
}

func (v visit) run(ctx context.Context, messages io.Writer) error {
	var err error
	if v.socket, err = controlSocket(); err != nil {
		return err
	}
	var here verbs.ServerInfoResult
	if v.socket.Call(ctx, verbs.ServerInfo, verbs.Empty{}, &here) == nil { // else spawnd itself refuses
		v.own = here.Pane
	}
	outcome, err := localattach.Run(ctx, localattach.Options{
		In: os.Stdin, Out: os.Stdout, Pane: v.pane, Places: v, One: v.one, Retry: mayPass, Dial: v.dial, Keys: v.keys,
	})
	if err != nil {
		return err
	}
	return report(outcome, outcome.Pane, messages)
}

func (v visit) dial(ctx context.Context, pane string, cols, rows uint16) (localattach.Remote, error) {
	stream, _, err := v.socket.Stream(ctx, verbs.PaneStreamParams{
		Pane: pane, Cols: cols, Rows: rows, ReadOnly: v.readOnly, Take: !v.readOnly, Name: "attach on " + ttyName(),
	})
	return remote(stream), err
}

// Map is part of localattach.Places. Nothing leads to the pane that we are in.
func (v visit) Map(ctx context.Context) (localattach.Map, error) {
	var windows verbs.WindowListResult
	var panes verbs.PaneListResult
	if err := v.socket.Call(ctx, verbs.WindowList, verbs.WindowListParams{}, &windows); err != nil {
		return localattach.Map{}, err
	}
	err := v.socket.Call(ctx, verbs.PaneList, verbs.Empty{}, &panes)
	others := slices.DeleteFunc(panes.Panes, func(p verbs.Pane) bool { return p.ID == v.own })
	return localattach.Map{Windows: windows.Windows, Panes: others}, err
}

// New is part of localattach.Places. Who only watches starts nothing.
func (v visit) New(ctx context.Context, session string, cols, rows uint16) (string, error) {
	if v.readOnly {
		return "", invalid(errors.New("--read-only watches what there is, and starts no terminal"))
	}
	var made verbs.WindowResult
	err := v.socket.Call(ctx, verbs.WindowNew, verbs.WindowNewParams{Session: session, Cols: cols, Rows: rows}, &made)
	return made.Window.Active, err
}

// Turned is part of localattach.Places.
func (v visit) Turned(ctx context.Context, pane string) error {
	if v.readOnly {
		return nil
	}
	return v.socket.Call(ctx, verbs.PaneFocus, verbs.PaneFocusParams{Pane: pane}, &verbs.WindowResult{})
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
