// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"slices"
)

// via does a verb by one method of what the server is.
func via[S any, P params, R any](do func(S, context.Context, P) (R, error)) func(context.Context, *ask, P) (R, error) {
	return func(ctx context.Context, a *ask, p P) (R, error) { return do(a.Server.(S), ctx, p) }
}

// onto is via for a verb that also changes another place: the target is nothing that the verb's own rights
// say anything of, so the caller must have the right to write there too. "" is no other place.
func onto[S any, P params, R any](target func(P) Resource, do func(S, context.Context, P) (R, error)) func(context.Context, *ask, P) (R, error) {
	return func(ctx context.Context, a *ask, p P) (R, error) {
		if on := target(p); on != "" {
			if err := a.check(RightWrite, on); err != nil {
				var none R
				return none, err
			}
		}
		return via(do)(ctx, a, p)
	}
}

// seen leaves out what the caller may not read, as if it were not there.
func seen[T any](a *ask, all []T, on func(T) Resource) []T {
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool { return !a.may(RightRead, on(t)) })
}

func onSession(id string) Resource { return Resource("session:" + id) }

func onWindow(id string) Resource { return Resource("window:" + id) }

func onSessionOrRoot(id string) Resource {
	if id == "" {
		return ServerRoot
	}
	return onSession(id)
}

type callerKey struct{}

// CallerOf is who asks, for verbs whose effect depends on it.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
