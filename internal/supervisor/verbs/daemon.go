// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Daemon is what the verbs of spawnd itself act on.
type Daemon interface {
	Info(ctx context.Context) (ServerInfoResult, error)
}

// ServerInfo is the name of the verb.
const ServerInfo = "server.info"

type ServerInfoResult struct {
	Version   string   `json:"version" help:"version of the running spawnd"`
	HostName  string   `json:"host_name" help:"name of the host"`
	Source    string   `json:"source" help:"new with each start of spawnd"`
	PID       int      `json:"pid" help:"process id of spawnd"`
	StartedAt int64    `json:"started_at" help:"when it started, in Unix milliseconds"`
	Addresses []string `json:"addresses" help:"where the page is served"`
	Panes     int      `json:"panes" help:"how many panes there are"`
	Pane      string   `json:"pane" help:"pane that the caller is in, as the kernel shows; empty when none is shown"`
}

var daemonVerbs = []Verb{
	row[Empty, ServerInfoResult]{
		Name: ServerInfo, Summary: "tell about the running spawnd", Right: RightRead,
		Do: func(ctx context.Context, a *ask, _ Empty) (ServerInfoResult, error) { return a.Info(ctx) },
	}.verb(),
}
