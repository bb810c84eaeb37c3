// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/shape"
)

// completeTimeout bounds asking spawnd for ids: a person who presses Tab waits no longer.
const completeTimeout = 2 * time.Second

// completers find the ids of a form, from the running spawnd.
var completers = map[string]func(context.Context, *cobra.Command) []cobra.Completion{
	"pane":    completePanes,
	"window":  completeWindows,
	"session": completeSessions,
	"viewer":  completeViewers,
	"share":   completeShares,
	"device":  completeDevices,
}

// named offers names that are in this program's own tables, by verb and member.
var named = map[string]cobra.CompletionFunc{
	verbs.ConfigGet + " path":  completeSections,
	verbs.ConfigSet + " path":  completeKeys,
	verbs.ConfigSet + " value": completeValues,
	verbs.Doctor + " checks":   completeChecks,
}

// complete tells the shell what the flag can be.
func complete(cmd *cobra.Command, flag, verb string, m shape.Member) {
	offer := cobra.NoFileCompletions
	switch {
	case named[verb+" "+m.Name] != nil:
		offer = named[verb+" "+m.Name]
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

func completeWindows(ctx context.Context, _ *cobra.Command) []cobra.Completion {
	var result verbs.WindowListResult
	if call(ctx, verbs.WindowList, verbs.WindowListParams{}, &result) != nil {
		return nil
	}
	var found []cobra.Completion
	for _, w := range result.Windows {
		found = append(found, cobra.CompletionWithDesc(w.Window, escaped(w.Name)))
	}
	return found
}

func completeSessions(ctx context.Context, _ *cobra.Command) []cobra.Completion {
	var result verbs.SessionListResult
	if call(ctx, verbs.SessionList, verbs.Empty{}, &result) != nil {
		return nil
	}
	var found []cobra.Completion
	for _, s := range result.Sessions {
		found = append(found, cobra.CompletionWithDesc(s.Session, escaped(s.Name)))
	}
	return found
}

func completeShares(ctx context.Context, _ *cobra.Command) []cobra.Completion {
	var result verbs.ShareListResult
	if call(ctx, verbs.ShareList, verbs.Empty{}, &result) != nil {
		return nil
	}
	var found []cobra.Completion
	for _, s := range result.Shares {
		found = append(found, cobra.CompletionWithDesc(s.Share, escaped(s.Resource+" "+s.Label)))
	}
	return found
}

func completeDevices(ctx context.Context, _ *cobra.Command) []cobra.Completion {
	var result verbs.DeviceListResult
	if call(ctx, verbs.DeviceList, verbs.Empty{}, &result) != nil {
		return nil
	}
	var found []cobra.Completion
	for _, d := range result.Devices {
		found = append(found, cobra.CompletionWithDesc(d.Device, escaped(d.Name)))
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

func completeKeys(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, k := range config.Keys() {
		found = append(found, cobra.CompletionWithDesc(k.Path, k.Help))
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func completeSections(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, s := range config.Sections() {
		found = append(found, cobra.CompletionWithDesc(s.Name, s.Help))
	}
	keys, directive := completeKeys(cmd, args, typed)
	return append(found, keys...), directive
}

// completeValues offers what the key that --path names can be, where there are few.
func completeValues(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	path, err := cmd.Flags().GetString("path")
	k, known := config.Lookup(path)
	var found []cobra.Completion
	switch {
	case err != nil || !known:
	case k.Kind == config.Bool:
		found = []cobra.Completion{"true", "false"}
	default:
		found = k.Enum
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func completeChecks(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, c := range doctor.Checks() {
		found = append(found, cobra.CompletionWithDesc(c.Name, c.Why))
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
