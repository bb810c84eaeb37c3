// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import (
	"context"

	"spawn/internal/supervisor/verbs"
)

// shutdown returns when spawnd has understood; here nothing tells when its process is gone.
func shutdown(ctx context.Context, params, result any) error {
	return call(ctx, verbs.ServerShutdown, params, result)
}
