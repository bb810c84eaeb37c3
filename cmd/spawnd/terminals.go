// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/access"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/loginenv"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// terminalCommands are short ways to the verbs that a person uses by hand. What they print stays as it is:
// scripts of people rely on it.
func terminalCommands() []*cobra.Command {
	return []*cobra.Command{listCommand(), newCommand(), attachCommand(), killCommand()}
}

const jsonFlag = "json"

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the terminals",
		Long: `List the terminals.

A record is what a restored checkpoint has of a terminal that is gone: nothing runs in it. "spawnd pane relaunch" starts a
program in its place, and "spawnd kill" takes it away.`,
		Args: noArgs,
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
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "an array of objects on standard output")
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
			if p.Cols != 0 || p.Rows != 0 {
				p.Cols, p.Rows = cmp.Or(p.Cols, 80), cmp.Or(p.Rows, 24)
			}
			var result verbs.PaneResult
			if err := call(cmd.Context(), verbs.PaneNew, p, &result); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), result.Pane)
			}
			return printLine(cmd.OutOrStdout(), result.Pane.ID)
		},
	}
	cmd.Flags().StringVar(&p.Name, "name", "", "name of the terminal")
	cmd.Flags().StringVar(&p.Cwd, "cwd", "", "absolute path of the folder it starts in (default: home)")
	cmd.Flags().Uint16Var(&p.Cols, "cols", 0, "columns (default: as the settings say, or 80 with --rows)")
	cmd.Flags().Uint16Var(&p.Rows, "rows", 0, "rows (default: as the settings say, or 24 with --cols)")
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "the whole row on standard output")
	return cmd
}

func killCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "kill ID",
		Short:             "End a terminal: TERM, and KILL two seconds later",
		Args:              oneID,
		ValidArgsFunction: onePane,
		RunE: func(cmd *cobra.Command, args []string) error {
			return call(cmd.Context(), verbs.PaneClose, verbs.PaneCloseParams{Pane: args[0]}, &verbs.Empty{})
		},
	}
}

// pairName is the command that is a verb when nothing follows, and a group of verbs otherwise.
const pairName = "pair"

func pair(cmd *cobra.Command, _ []string) error {
	var result verbs.PairNewResult
	if err := call(cmd.Context(), verbs.PairNew, verbs.Empty{}, &result); err != nil {
		return err
	}
	return printLine(cmd.OutOrStdout(), result.URL)
}

func call(ctx context.Context, verb string, params, result any) error {
	socket, err := controlSocket()
	if err != nil {
		return err
	}
	return socket.Call(ctx, verb, params, result)
}

// tokenVariable says who asks, for programs that were given an identity of their own.
const tokenVariable = "SPAWN_TOKEN"

// controlSocket is where the spawnd of this user and these variables listens, and who we say we are there.
func controlSocket() (dial.Socket, error) {
	account, err := loginenv.Current(os.Getenv)
	if err != nil {
		return dial.Socket{}, err
	}
	folders, err := config.Resolve(os.Getenv, account.Home)
	if err != nil {
		return dial.Socket{}, err
	}
	token := os.Getenv(tokenVariable)
	if token == access.OwnerWord {
		if token, err = access.ReadOwnerToken(folders.Runtime); errors.Is(err, fs.ErrNotExist) {
			return dial.Socket{}, verbs.Errorf(verbs.CodeNoDaemon, "%s", err)
		} else if err != nil {
			return dial.Socket{}, err
		}
	}
	return dial.Socket{Path: folders.ControlSocket(), CheckPeer: endpoint.CheckPeer, Token: token}, nil
}
