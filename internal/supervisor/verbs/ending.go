// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Ending is what ends spawnd (recovery specification, section 6).
type Ending interface {
	// Shutdown begins the end and returns at once: the answer is out before the socket closes.
	Shutdown(ctx context.Context, p ServerShutdownParams) (Empty, error)
}

// ServerShutdown is the name of the verb.
const ServerShutdown = "server.shutdown"

type ServerShutdownParams struct {
	Sessions string `json:"sessions,omitzero" enum:"keep,terminate" help:"what becomes of terminals: keep detaches, terminate ends them all; left out: as the settings say"`
}

func (ServerShutdownParams) on() Resource { return ServerRoot }

var endingVerbs = []Verb{
	row[ServerShutdownParams, Empty]{
		Name: ServerShutdown, Summary: "end spawnd", Right: RightAdmin,
		Errors: []Code{CodeRecoveryIO}, Example: ServerShutdownParams{"terminate"},
		Do: via(Ending.Shutdown),
	}.verb(),
}
