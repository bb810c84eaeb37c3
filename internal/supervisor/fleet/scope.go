// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"

	"spawn/internal/sessiond/endpoint"
	"spawn/internal/supervisor/fleet/systemd"
)

// Scoper gives a worker a control group of its own, before its shell starts.
type Scoper interface {
	Adopt(ctx context.Context, pid int, id endpoint.SessionID, limits Limits) error
}

// Limits bound what one terminal's processes use together. They need a scope.
type Limits = systemd.Limits

// NoScope leaves workers in the control group of their spawnd. Its unit's KillMode=process then keeps
// them over a restart.
type NoScope struct{}

var errNoScope = errors.New("no systemd answers")

// Adopt does nothing, which is an error when there were limits to be kept.
func (NoScope) Adopt(_ context.Context, _ int, _ endpoint.SessionID, limits Limits) error {
	if limits != (Limits{}) {
		return errNoScope
	}
	return nil
}

type systemdScoper struct{ manager *systemd.Manager }

func (s systemdScoper) Adopt(ctx context.Context, pid int, id endpoint.SessionID, limits Limits) error {
	return s.manager.StartScope(ctx, ScopeName(id), "Terminal "+string(id), pid, limits)
}

// ScopeName is the unit in which a terminal's processes live where systemd is there.
func ScopeName(id endpoint.SessionID) string { return "spawn-worker-" + string(id) + ".scope" }

// DetectScoper finds out whether a systemd answers to this process. It always returns a Scoper; when it is
// NoScope, which sets no limits, the error says why.
func DetectScoper(ctx context.Context) (Scoper, error) {
	ctx, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()
	manager, err := systemd.Detect(ctx)
	if err != nil {
		return NoScope{}, err
	}
	return systemdScoper{manager}, nil
}
