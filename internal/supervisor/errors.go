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
	{ErrNoWindow, verbs.CodeNoWindow},
	{ErrNoSession, verbs.CodeNoSession},
	{topology.ErrNotFound, verbs.CodeNoPane},
	{topology.ErrNotEmpty, verbs.CodeNotEmpty},
	{topology.ErrArchive, verbs.CodeNotArchive},
	{topology.ErrIsArchive, verbs.CodeArchive},
	{topology.ErrRelaunching, verbs.CodeBusy},
	{errUnknownCommand, verbs.CodeNoCommand},
	{errRestarting, verbs.CodeBusy},
	{topology.ErrName, verbs.CodeInvalidName},
	{topology.ErrSplit, verbs.CodeNoSplit},
	{topology.ErrLayer, verbs.CodeLayer},
	{topology.ErrFloat, verbs.CodeInvalidParams},
	{topology.ErrTag, verbs.CodeTag},
	{topology.ErrOwner, verbs.CodeTag},
	{fanout.ErrSize, verbs.CodeInvalidSize},
	{topology.ErrFull, verbs.CodeFull},
	{topology.ErrOverflow, verbs.CodeFull},
	{fanout.ErrFull, verbs.CodeFull},
	{ErrEnded, verbs.CodeEnded},
	{fanout.ErrEnded, verbs.CodeEnded},
	{errWithin, verbs.CodeOwnPane},
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
	{fanout.ErrNoCapture, verbs.CodeOldWorker},
	{fanout.ErrCaptures, verbs.CodeBusy},
	{fanout.ErrFollowers, verbs.CodeBusy},
	{fanout.ErrTyping, verbs.CodeBusy},
	{fanout.ErrUnanswered, verbs.CodeTimeout},
	{context.Canceled, verbs.CodeNoDaemon}, // spawnd is on its way out, or nobody waits for the answer
	{control.ErrNotController, verbs.CodeNotController},
	{control.ErrReadOnly, verbs.CodeReadOnly},
	{control.ErrRequested, verbs.CodeRequested},
	{control.ErrNoRequest, verbs.CodeNoRequest},
	{control.ErrNotJoined, verbs.CodeNoViewer},
}

// codeOf reports false for an error that has no code: it is nobody's business but the log's.
func codeOf(err error) (verbs.Code, bool) {
	if own := (interface{ Code() string })(nil); errors.As(err, &own) { // what the Authority refuses
		return verbs.Code(own.Code()), true
	}
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
