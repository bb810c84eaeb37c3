// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
	"spawn/internal/supervisor/verbs"
)

// codes gives every error that a caller can do something about its code, for the control socket and the
// page alike. The first that matches counts.
var codes = []struct {
	err  error
	code verbs.Code
}{
	{ErrNotFound, verbs.CodeNoPane},
	{topology.ErrNotFound, verbs.CodeNoPane},
	{topology.ErrNotEmpty, verbs.CodeNotEmpty},
	{topology.ErrArchive, verbs.CodeNotArchive},
	{topology.ErrName, verbs.CodeInvalidName},
	{fanout.ErrSize, verbs.CodeInvalidSize},
	{topology.ErrFull, verbs.CodeFull},
	{topology.ErrOverflow, verbs.CodeFull},
	{fanout.ErrFull, verbs.CodeFull},
	{ErrEnded, verbs.CodeEnded},
	{fanout.ErrEnded, verbs.CodeEnded},
	{ErrClosing, verbs.CodeNoDaemon},
	{fleet.ErrUnresponsive, verbs.CodeTimeout},
	{fleet.ErrBusy, verbs.CodeTimeout},
	{errStart, verbs.CodeStart},
	{config.ErrUnknownKey, verbs.CodeNoKey},
	{config.ErrUnsafeFile, verbs.CodeSettingsFile},
	{config.ErrUnsafe, verbs.CodeSettingsFile},
	{config.ErrChanged, verbs.CodeChanged},
	{config.ErrUncertain, verbs.CodeSettingsFile},
	{config.ErrPrepare, verbs.CodeNotInForce},
	{doctor.ErrUnknownCheck, verbs.CodeNoCheck},
	{context.DeadlineExceeded, verbs.CodeTimeout},
	{control.ErrNotController, verbs.CodeNotController},
	{control.ErrReadOnly, verbs.CodeReadOnly},
	{control.ErrRequested, verbs.CodeRequested},
	{control.ErrNoRequest, verbs.CodeNoRequest},
}

// codeOf reports false for an error that has no code: it is nobody's business but the log's.
func codeOf(err error) (verbs.Code, bool) {
	if errors.As(err, new(config.Problems)) {
		return verbs.CodeSetting, true
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code, true
		}
	}
	return verbs.CodeInternal, false
}
