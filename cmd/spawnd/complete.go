// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/shape"
)

// completeTimeout bounds asking spawnd for ids: a person who presses Tab waits no longer.
const completeTimeout = 2 * time.Second

// completers find the ids of a form, from the running spawnd.
var completers = map[string]func(context.Context, *cobra.Command) []cobra.Completion{
	"pane":   completePanes,
	"viewer": completeViewers,
}

// complete tells the shell what the flag can be.
func complete(cmd *cobra.Command, flag string, m shape.Member) {
	offer := cobra.NoFileCompletions
	switch {
	case len(m.Enum) > 0:
		offer = cobra.FixedCompletions(m.Enum, cobra.ShellCompDirectiveNoFileComp)
	case completers[m.Form] != nil:
		offer = ids(completers[m.Form])
	case m.Form == "abspath":
		offer = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic("spawnd: internal error: " + err.Error()) // the flag has just been made
	}
}

// onePane completes the argument of the short commands.
var onePane = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return ids(completePanes)(cmd, args, typed)
}

func ids(find func(context.Context, *cobra.Command) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeTimeout)
		defer cancel()
		return find(ctx, cmd), cobra.ShellCompDirectiveNoFileComp
	}
}

func completePanes(ctx context.Context, _ *cobra.Command) []cobra.Completion {
	var result verbs.PaneListResult
	if call(ctx, verbs.PaneList, verbs.Empty{}, &result) != nil {
		return nil // a person who presses Tab without a spawnd is offered nothing
	}
	var found []cobra.Completion
	for _, p := range result.Panes {
		what := p.Name
		if what == "" {
			what = p.Title
		}
		found = append(found, cobra.CompletionWithDesc(p.ID, escaped(what)))
	}
	return found
}

func completeViewers(ctx context.Context, cmd *cobra.Command) []cobra.Completion {
	var result verbs.ViewerListResult
	pane, err := cmd.Flags().GetString("pane")
	if err != nil || call(ctx, verbs.ViewerList, verbs.ViewerListParams{Pane: pane}, &result) != nil {
		return nil
	}
	var found []cobra.Completion
	for _, v := range result.Viewers {
		found = append(found, cobra.CompletionWithDesc(v.Viewer, escaped(v.Name)))
	}
	return found
}
