// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
)

// Code names an error to programs. What comes before the dot is its class, which decides the exit code.
type Code string

const (
	CodeInvalidJSON   Code = "invalid.json"
	CodeInvalidParams Code = "invalid.params"
	CodeInvalidSize   Code = "invalid.size"
	CodeInvalidName   Code = "invalid.name"

	CodeNoPane   Code = "not_found.pane"
	CodeNoViewer Code = "not_found.viewer"

	CodeReadOnly      Code = "denied.read_only"
	CodeNotController Code = "denied.not_controller"

	CodeRequested Code = "conflict.requested"
	CodeNoRequest Code = "conflict.no_request"

	CodeNoDaemon Code = "unavailable.daemon"  // none listens, or it went away before it answered
	CodeBusy     Code = "unavailable.busy"    // too many connections
	CodeTimeout  Code = "unavailable.timeout" // the worker did not answer in time
	CodeEnded    Code = "unavailable.ended"   // the pane's terminal has ended
	CodeFull     Code = "unavailable.full"    // too many viewers, or panes
	CodeStart    Code = "unavailable.start"   // the terminal could not be started

	CodeUnsupported Code = "unsupported.verb"
	CodeInternal    Code = "internal"
)

// Error is a verb's refusal, as it goes over the socket. Message is for people and says what to do;
// neither it nor Data ever holds terminal content, tokens or a command line.
type Error struct {
	Code    Code              `json:"code"`
	Message string            `json:"message"`
	Data    map[string]string `json:"data"`
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error. Whoever implements Server picks codes with it; any other error that is not in
// the table below is written to the log, and the caller is told CodeInternal.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// known are the errors of the rooms below and their codes.
var known = []struct {
	err  error
	code Code
}{
	{control.ErrNotController, CodeNotController},
	{control.ErrReadOnly, CodeReadOnly},
	{control.ErrRequested, CodeRequested},
	{control.ErrNoRequest, CodeNoRequest},
	{control.ErrNotJoined, CodeNoViewer},
	{fanout.ErrDetached, CodeNoViewer},
	{fanout.ErrEnded, CodeEnded},
	{fanout.ErrFull, CodeFull},
	{fanout.ErrSize, CodeInvalidSize},
	{context.DeadlineExceeded, CodeTimeout},
}

// refusalOf returns what a caller is told of err; false when that is all that it may know.
func refusalOf(err error) (*Error, bool) {
	var own *Error
	if errors.As(err, &own) {
		return own, true
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &Error{Code: k.code, Message: k.err.Error()}, true
		}
	}
	return &Error{Code: CodeInternal, Message: "the request failed; the log of spawnd says why"}, false
}

// exits are the exit codes by class of error.
var exits = map[string]int{
	"invalid": 2, "not_found": 3, "denied": 4, "conflict": 5, "unavailable": 6, "unsupported": 10,
}

// ExitCode is what a command ends with: 0 without an error, a code by class for an Error, 1 for any other.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	var e *Error
	if errors.As(err, &e) {
		class, _, _ := strings.Cut(string(e.Code), ".")
		if code, ok := exits[class]; ok {
			return code
		}
	}
	return 1
}
