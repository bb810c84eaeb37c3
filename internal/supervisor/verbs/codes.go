// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"slices"
	"strings"
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

	CodeToken         Code = "denied.token"
	CodeReadOnly      Code = "denied.read_only"
	CodeNotController Code = "denied.not_controller"

	CodeRequested Code = "conflict.requested"
	CodeNoRequest Code = "conflict.no_request"

	CodeNoDaemon Code = "unavailable.daemon"
	CodeBusy     Code = "unavailable.busy"
	CodeTimeout  Code = "unavailable.timeout"
	CodeEnded    Code = "unavailable.ended"
	CodeFull     Code = "unavailable.full"
	CodeStart    Code = "unavailable.start"

	CodeUnsupported Code = "unsupported.verb"
	CodeInternal    Code = "internal"
)

// CodeSpec is one row of the table of codes.
type CodeSpec struct {
	Code    Code
	Meaning string   // one line
	Data    []string // what its data names
	Always  bool     // any verb may give it
}

// codes is every code there is. docs/verbs.md is made from it.
var codes = slices.Concat(
	[]CodeSpec{
		{CodeInvalidJSON, "the line is no request, or is too long; the connection ends", nil, true},
		{CodeInvalidParams, "a parameter is missing, unknown, of another type, or outside its limits", []string{"param"}, true},
		{CodeInvalidSize, "columns or rows are not ones that a terminal can have", []string{"param"}, false},
		{CodeInvalidName, "the name is too long, or has characters that a name can't have", []string{"param"}, false},
		{CodeNoPane, "there is no such pane", nil, false},
		{CodeNoViewer, "there is no such viewer of the pane", nil, false},
		{CodeToken, "the token is not one that this spawnd has issued", nil, true},
	},
	deniedCodes(),
	[]CodeSpec{
		{CodeReadOnly, "this viewer may only watch", nil, false},
		{CodeNotController, "another viewer controls the pane", nil, false},
		{CodeRequested, "another viewer has asked for control", nil, false},
		{CodeNoRequest, "no request for control is open any more", nil, false},
		{CodeNoDaemon, "no spawnd listens, it is on its way out, or it went away before it answered", nil, true},
		{CodeBusy, "too many connections are at work", nil, true},
		{CodeTimeout, "the answer did not come in time", nil, true},
		{CodeEnded, "the pane's terminal has ended", nil, false},
		{CodeFull, "there are as many of them as there may be", nil, false},
		{CodeStart, "the terminal could not be started", nil, false},
		{CodeUnsupported, "this spawnd does not know the verb", nil, true},
		{CodeInternal, "the request failed; the log of spawnd says why", nil, true},
	},
)

// deniedCodes are those of missing rights. A verb may give those of the rights that it needs.
func deniedCodes() []CodeSpec {
	var specs []CodeSpec
	for _, r := range Rights() {
		specs = append(specs, CodeSpec{denied(r), "the caller has no right to " + r.String() + " there", []string{"right", "resource", "principal"}, false})
	}
	return specs
}

// Codes returns the table of codes.
func Codes() []CodeSpec { return slices.Clone(codes) }

func (c Code) spec() (CodeSpec, bool) {
	i := slices.IndexFunc(codes, func(s CodeSpec) bool { return s.Code == c })
	if i < 0 {
		return CodeSpec{}, false
	}
	return codes[i], true
}

// exits are the exit codes by class of error.
var exits = map[string]int{
	"invalid": 2, "not_found": 3, "denied": 4, "conflict": 5, "unavailable": 6, "unsupported": 10,
}

// Exit is the exit code of the code's class: 1 for one that has none.
func (c Code) Exit() int {
	class, _, _ := strings.Cut(string(c), ".")
	if exit, ok := exits[class]; ok {
		return exit
	}
	return 1
}
