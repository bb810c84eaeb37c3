// SPDX-License-Identifier: Apache-2.0

// Command spawnd serves terminals that outlive it, and is the command line that drives it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"spawn/internal/version"
)

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code. The first SIGINT or SIGTERM ends the command in an orderly way, the second at
// once.
func run(args []string) int {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { stop(); signal.Stop(caught) })
	root := rootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	asJSON := asksJSON(cmd, args)
	select {
	case sig := <-caught:
		err = interrupted(err, sig)
		tell(os.Stderr, asJSON, err)
		return exitSignal + int(sig.(syscall.Signal))
	default:
		tell(os.Stderr, asJSON, err)
		return exitCode(err)
	}
}

// passJSON lets --json stand in front of the word of a command below, which has the flag itself: here it says that no
// value follows.
func passJSON(cmd *cobra.Command) {
	cmd.Flags().Bool(jsonFlag, false, "")
	cmd.Flags().Lookup(jsonFlag).Hidden = true
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "spawnd",
		Short:         "Terminals in the browser that outlive everything",
		Version:       version.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	passJSON(root)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return invalid(flagError(err)) })
	root.AddCommand(serveCommand(), installServiceCommand(), mcpCommand(), guideCommand())
	root.AddCommand(terminalCommands()...)
	root.AddCommand(verbCommands()...)
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args, cmd.RunE = noArgs, root.RunE // the library's takes any word, and ends with success
	}
	return root
}
