// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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

// completers are the finders by form.
var completers = map[string]finder{
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

func ids(find finder) cobra.CompletionFunc {
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

// finder finds the ids of a form, from the running spawnd.
type finder func(context.Context, *cobra.Command) []cobra.Completion

// listed finds ids by a verb that lists things. A person who presses Tab without a spawnd is offered nothing.
func listed[R, T any](verb string, params any, things func(R) []T, tell func(T) (id, what string)) finder {
	return func(ctx context.Context, _ *cobra.Command) []cobra.Completion {
		var result R
		if call(ctx, verb, params, &result) != nil {
			return nil
		}
		var found []cobra.Completion
		for _, thing := range things(result) {
			id, what := tell(thing)
			found = append(found, cobra.CompletionWithDesc(id, escaped(what)))
		}
		return found
	}
}

var (
	completePanes = listed(verbs.PaneList, verbs.Empty{},
		func(r verbs.PaneListResult) []verbs.Pane { return r.Panes },
		func(p verbs.Pane) (id, what string) { return p.ID, cmp.Or(p.Name, p.Title) })
	completeWindows = listed(verbs.WindowList, verbs.WindowListParams{},
		func(r verbs.WindowListResult) []verbs.Window { return r.Windows },
		func(w verbs.Window) (id, what string) { return w.Window, w.Name })
	completeSessions = listed(verbs.SessionList, verbs.Empty{},
		func(r verbs.SessionListResult) []verbs.Session { return r.Sessions },
		func(s verbs.Session) (id, what string) { return s.Session, s.Name })
	completeShares = listed(verbs.ShareList, verbs.Empty{},
		func(r verbs.ShareListResult) []verbs.Share { return r.Shares },
		func(s verbs.Share) (id, what string) { return s.Share, s.Resource + " " + s.Label })
	completeDevices = listed(verbs.DeviceList, verbs.Empty{},
		func(r verbs.DeviceListResult) []verbs.Device { return r.Devices },
		func(d verbs.Device) (id, what string) { return d.Device, d.Name })
)

// completeViewers are those of the pane that the command line names already.
func completeViewers(ctx context.Context, cmd *cobra.Command) []cobra.Completion {
	pane, err := cmd.Flags().GetString("pane")
	if err != nil {
		return nil
	}
	return listed(verbs.ViewerList, verbs.ViewerListParams{Pane: pane},
		func(r verbs.ViewerListResult) []verbs.Viewing { return r.Viewers },
		func(v verbs.Viewing) (id, what string) { return v.Viewer, v.Name })(ctx, cmd)
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
