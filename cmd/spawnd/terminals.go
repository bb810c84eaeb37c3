// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/loginenv"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// terminalCommands are the commands that ask a running spawnd.
func terminalCommands() []*cobra.Command {
	return []*cobra.Command{listCommand(), newCommand(), attachCommand(), killCommand(), pairCommand()}
}

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the terminals",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result verbs.PaneListResult
			if err := call(cmd.Context(), verbs.PaneList, verbs.Empty{}, &result); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), result.Panes)
			}
			return printPanes(cmd.OutOrStdout(), result.Panes)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "an array of objects on standard output")
	return cmd
}

func newCommand() *cobra.Command {
	var p verbs.PaneNewParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new [flags] [-- COMMAND [ARG]...]",
		Short: "Start a terminal with your login shell, or with a command; prints its id",
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Argv = args
			var result verbs.PaneResult
			if err := call(cmd.Context(), verbs.PaneNew, p, &result); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), result.Pane)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), result.Pane.ID)
			return err
		},
	}
	cmd.Flags().StringVar(&p.Name, "name", "", "name of the terminal")
	cmd.Flags().StringVar(&p.Cwd, "cwd", "", "absolute path of the folder it starts in (default: home)")
	cmd.Flags().Uint16Var(&p.Cols, "cols", 80, "columns")
	cmd.Flags().Uint16Var(&p.Rows, "rows", 24, "rows")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole row on standard output")
	return cmd
}

func killCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kill ID",
		Short: "End a terminal: TERM, and KILL two seconds later",
		Args:  oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return call(cmd.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: args[0]}, &verbs.Empty{})
		},
	}
}

func pairCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pair",
		Short: "Print an address that lets one more browser in, once, within ten minutes",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result verbs.PairNewResult
			if err := call(cmd.Context(), verbs.PairNew, verbs.Empty{}, &result); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), result.URL)
			return err
		},
	}
}

func call(ctx context.Context, verb string, params, result any) error {
	socket, err := controlSocket()
	if err != nil {
		return err
	}
	return socket.Call(ctx, verb, params, result)
}

// controlSocket is where the spawnd of this user and these variables listens.
func controlSocket() (dial.Socket, error) {
	account, err := loginenv.Current(os.Getenv)
	if err != nil {
		return dial.Socket{}, err
	}
	folders, err := config.Resolve(os.Getenv, account.Home)
	if err != nil {
		return dial.Socket{}, err
	}
	return dial.Socket{Path: folders.ControlSocket(), CheckPeer: endpoint.CheckPeer}, nil
}

func printJSON(out io.Writer, v any) error {
	text, err := strictjson.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", text)
	}
	return err
}

func printPanes(out io.Writer, panes []verbs.Pane) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tSIZE\tPID\tRUNS\tNAME\tTITLE")
	for _, p := range panes {
		fmt.Fprintf(table, "%s\t%s\t%dx%d\t%s\t%s\t%s\t%s\n", p.ID, stateText(p), p.Cols, p.Rows, pidText(p.PID),
			escaped(p.Foreground), escaped(p.Name), escaped(p.Title))
	}
	return table.Flush()
}

// stateText never makes an unknown end look like a success.
func stateText(p verbs.Pane) string {
	switch {
	case p.ExitCode != nil:
		return fmt.Sprintf("%s (%d)", p.State, *p.ExitCode)
	case p.Signal != "":
		return fmt.Sprintf("%s (%s)", p.State, p.Signal)
	case p.State == verbs.PaneLost:
		return "lost (status unknown)"
	}
	return string(p.State)
}

func pidText(pid int) string {
	if pid == 0 {
		return "-"
	}
	return strconv.Itoa(pid)
}

// escaped makes a text that a program chose harmless on this terminal.
func escaped(text string) string {
	return strings.Trim(strconv.QuoteToGraphic(text), `"`)
}
