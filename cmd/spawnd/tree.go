// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"spawn/internal/supervisor/verbs"
)

// groups say what the verbs of one first word are about.
var groups = map[string]string{
	"pane":     "Terminals, each in its pane",
	"viewer":   "Who is attached to a pane",
	"pair":     "Let browsers in",
	"session":  "Named rows of windows",
	"window":   "Windows with their splits and floats",
	"control":  "Who sizes a pane and types into it",
	"share":    "Links that let others see a pane or a session",
	"grant":    "Identities and rights of programs",
	"device":   "Paired browsers",
	"events":   "What happens",
	"config":   "The settings",
	"recovery": "Checkpoints, for what a reboot ends",
	"server":   "The running spawnd",
}

// verbCommands are the commands of the table of verbs: pane.new is `pane new`. A verb that streams frames
// is none, because no shell could make anything of them; `attach` speaks them.
func verbCommands() []*cobra.Command {
	var all []*cobra.Command
	byGroup := map[string]*cobra.Command{}
	for _, v := range verbs.Table() {
		if v.Stream {
			continue
		}
		if len(v.Command()) == 1 {
			all = append(all, verbCommand(v))
			continue
		}
		group := v.Command()[0]
		if byGroup[group] == nil {
			byGroup[group] = groupCommand(group)
			all = append(all, byGroup[group])
		}
		byGroup[group].AddCommand(verbCommand(v))
	}
	return all
}

func groupCommand(name string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: groups[name],
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	if name == pairName {
		cmd.RunE = pair
	}
	passJSON(cmd)
	return cmd
}

func verbCommand(v verbs.Verb) *cobra.Command {
	var in input
	var asJSON bool
	words := v.Command()
	name := words[len(words)-1]
	cmd := &cobra.Command{
		Use:     name + " [flags]",
		Short:   sentence(v.Summary),
		Long:    long(v),
		Example: "  " + v.ExampleLine(),
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			params, err := in.params(args)
			if err != nil {
				return err
			}
			return ask(cmd, v, params, asJSON)
		},
	}
	in.declare(cmd, v)
	if in.rest != nil {
		cmd.Use += " [-- WORD...]"
		cmd.Args = restArgs
	}
	cmd.Flags().BoolVar(&asJSON, jsonFlag, false, "the result as one line of JSON on standard output, and nothing else")
	return cmd
}

// ask does a verb and shows its result.
func ask(cmd *cobra.Command, v verbs.Verb, params map[string]any, asJSON bool) error {
	if err := v.CheckParams(params); err != nil {
		return err
	}
	result := v.NewResult()
	if v.Lines {
		return follow(cmd, v, params, result)
	}
	if err := attempt(cmd, v, params, result, asJSON); err != nil {
		return err
	}
	out := show
	if asJSON {
		out = func(w io.Writer, _ verbs.Verb, result any) error { return printJSON(w, result) }
	}
	if err := out(cmd.OutOrStdout(), v, result); err != nil {
		return err
	}
	return judge(result)
}

// follow writes each line as it comes: they are for programs, with --json or without.
func follow(cmd *cobra.Command, v verbs.Verb, params map[string]any, result any) error {
	socket, err := controlSocket()
	if err != nil {
		return err
	}
	return socket.Follow(cmd.Context(), v.Name, params, result, func(line []byte) error {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
		return err
	})
}

// long is the help beyond the summary: rights and errors, which scripts have to reckon with.
func long(v verbs.Verb) string {
	text := sentence(v.Summary) + ".\n\nNeeds " + strings.ReplaceAll(v.Needs(), "`", "") + "."
	if len(v.Errors) == 0 {
		return text
	}
	text += "\n\nErrors beside those of every verb:\n"
	for _, s := range verbs.Codes() {
		if !s.Always && v.May(s.Code) && s.Code.Exit() != deniedExit {
			text += fmt.Sprintf("\n- %s (exit code %d): %s", s.Code, s.Code.Exit(), s.Meaning)
		}
	}
	return text
}

// deniedExit is the exit code of missing rights, which the line before has told.
var deniedExit = verbs.CodeToken.Exit()

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
