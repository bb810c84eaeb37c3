// SPDX-License-Identifier: Apache-2.0

package recovery

import "errors"

// Code is the class of a failure, as a verb reports it (recovery specification, section 6).
type Code string

const (
	CodeNotFound Code = "not_found.checkpoint"
	CodeBusy     Code = "conflict.recovery_busy"
	CodeCorrupt  Code = "conflict.checkpoint_corrupt"
	CodeExpired  Code = "conflict.checkpoint_expired"
	CodeDisabled Code = "unavailable.recovery_disabled"
	CodeIO       Code = "unavailable.recovery_io"
	CodeFormat   Code = "unsupported.checkpoint_format"
	CodeSize     Code = "unsupported.checkpoint_size"
	CodeID       Code = "invalid_params.checkpoint"
)

// Failure is every error of this package. What it says is fixed in advance: never a path, a name or
// text from a checkpoint. The cause, which may name a path, is there for errors.Is alone.
type Failure struct {
	Code Code
	// Unknown means that the change may be there after a power loss or not: it was made, but the file
	// system did not confirm it. The caller looks at what is there before it concludes anything.
	Unknown bool
	reason  string // stable text
	cause   error  // nil when the failure is our own finding
}

// Sentinels to compare with errors.Is; each matches every failure of its code.
var (
	ErrNotFound = &Failure{Code: CodeNotFound}
	ErrBusy     = &Failure{Code: CodeBusy}
	ErrCorrupt  = &Failure{Code: CodeCorrupt}
	ErrExpired  = &Failure{Code: CodeExpired}
	ErrDisabled = &Failure{Code: CodeDisabled}
	ErrIO       = &Failure{Code: CodeIO}
	ErrFormat   = &Failure{Code: CodeFormat}
	ErrSize     = &Failure{Code: CodeSize}
	ErrID       = &Failure{Code: CodeID}
	// ErrUnknown matches the failures whose outcome is unknown.
	ErrUnknown = &Failure{Unknown: true}
)

func (f *Failure) Error() string {
	if f.reason == "" {
		return string(f.Code)
	}
	return f.reason
}

func (f *Failure) Unwrap() error { return f.cause }

// Is matches the sentinels.
func (f *Failure) Is(target error) bool {
	want, ok := target.(*Failure)
	if !ok || want.reason != "" {
		return false
	}
	return want.Code == f.Code && !want.Unknown || want.Code == "" && want.Unknown && f.Unknown
}

// CodeOf is the class of err; CodeIO for an error that is not of this package, "" for none.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Code
	}
	return CodeIO
}

func corrupt(reason string) error {
	return &Failure{Code: CodeCorrupt, reason: "checkpoint: " + reason}
}
func oversize(reason string) error { return &Failure{Code: CodeSize, reason: "checkpoint: " + reason} }

func ioFailure(reason string, cause error) error {
	return &Failure{Code: CodeIO, reason: reason, cause: cause}
}

func unknownOutcome(reason string, cause error) error {
	return &Failure{Code: CodeIO, Unknown: true, reason: reason, cause: cause}
}
