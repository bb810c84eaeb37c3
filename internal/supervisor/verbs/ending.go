// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Ending is what ends spawnd (recovery specification, section 6).
type Ending interface {
	// Shutdown returns what begins the end. It is called when the answer is out, since the end closes the
	// control socket and every connection.
	Shutdown(ctx context.Context, p ServerShutdownParams) (begin func(), err error)
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
		Example: ServerShutdownParams{"terminate"},
		Do:      shutdown,
	}.verb(),
}

func shutdown(ctx context.Context, a *ask, p ServerShutdownParams) (Empty, error) {
	begin, err := a.Server.(Ending).Shutdown(ctx, p)
	if err == nil {
		a.conn.after = begin
	}
	return Empty{}, err
}
