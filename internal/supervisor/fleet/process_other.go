// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package fleet

import (
	"context"
	"errors"
	"fmt"

	"spawn/internal/sessiond/endpoint"
)

// process cannot exist here: a reservation cannot be handed to a child yet.
type process struct{}

func (f *Fleet) fork(id endpoint.SessionID, _ LogBounds) (*process, error) {
	return nil, fmt.Errorf("start worker for %s with %s: %w", id, f.workerPath, errors.ErrUnsupported)
}

func (*process) pid() int { return 0 }

func (*process) awaitReady(context.Context) error { return errors.ErrUnsupported }

func (*process) kill(context.Context) error { return errors.ErrUnsupported }
