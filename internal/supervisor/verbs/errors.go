// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"spawn/internal/supervisor/control"
	"spawn/internal/supervisor/fanout"
	"spawn/internal/supervisor/verbs/shape"
)

// Error is a verb's refusal, as it goes over the socket. Message is for people and says what to do;
// neither it nor Data ever holds terminal content, tokens or a command line.
type Error struct {
	Code    Code              `json:"code"`
	Message string            `json:"message"`
	Data    map[string]string `json:"data"` // its names are those that the table of codes lists
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error. Whoever implements Server picks codes with it; any other error that is not in
// the table below is written to the log, and the caller is told CodeInternal.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With returns the error with one more member of its data.
func (e *Error) With(name, value string) *Error {
	more := *e
	more.Data = maps.Clone(e.Data)
	if more.Data == nil {
		more.Data = map[string]string{}
	}
	more.Data[name] = value
	return &more
}

// invalid is the refusal of parameters that are not those of the verb.
func invalid(err error) *Error {
	f := (*shape.Fault)(nil)
	if !errors.As(err, &f) {
		return Errorf(CodeInvalidParams, "the parameters are not those of this verb").With("param", "")
	}
	code := CodeInvalidParams
	if f.Code != "" {
		code = Code(f.Code)
	}
	return Errorf(code, "%s", f).With("param", f.Param)
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

// ExitCode is what a command ends with: 0 without an error, a code by class for an Error, 1 for any other.
func ExitCode(err error) int {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code.Exit()
	}
	return 1
}

// keeps reports whether the error is one that the table describes: a code of it, with data that the code has.
func (e *Error) keeps() bool {
	s, ok := e.Code.spec()
	for name := range e.Data {
		ok = ok && slices.Contains(s.Data, name)
	}
	return ok
}
