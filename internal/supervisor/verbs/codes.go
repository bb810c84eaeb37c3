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

	CodeNoSession    Code = "not_found.session"
	CodeNoWindow     Code = "not_found.window"
	CodeNoGrant      Code = "not_found.grant"
	CodeNoDevice     Code = "not_found.device"
	CodeNoKey        Code = "not_found.key"
	CodeNoCheck      Code = "not_found.check"
	CodeNoCheckpoint Code = "not_found.checkpoint"

	CodeTag          Code = "invalid.tag"
	CodeKey          Code = "invalid.key"
	CodeRegex        Code = "invalid.regex"
	CodeSetting      Code = "invalid.setting"
	CodeSubscription Code = "invalid.subscription"
	CodeCheckpointID Code = "invalid_params.checkpoint"
	CodeAckOrphans   Code = "invalid_params.ack_orphans"

	CodeLayer        Code = "conflict.layer"
	CodeChanged      Code = "conflict.settings"
	CodeNoSplit      Code = "conflict.no_split"
	CodeNotAtPrompt  Code = "conflict.not_at_prompt"
	CodeRecoveryBusy Code = "conflict.recovery_busy"
	CodeNotEmpty     Code = "conflict.not_empty"
	CodeOwnPane      Code = "conflict.own_pane"
	CodeNotArchive   Code = "conflict.not_archive"
	CodeArchive      Code = "conflict.archive"
	CodeNoCommand    Code = "conflict.no_command"
	CodeCorrupt      Code = "conflict.checkpoint_corrupt"
	CodeExpired      Code = "conflict.checkpoint_expired"

	CodeNoHistory        Code = "unavailable.history"
	CodeNoMarks          Code = "unavailable.marks"
	CodeOutcome          Code = "unavailable.outcome"
	CodeSettingsFile     Code = "unavailable.settings"
	CodeNotInForce       Code = "unavailable.not_in_force"
	CodeSpawn            Code = "unavailable.spawn"
	CodeRecoveryDisabled Code = "unavailable.recovery_disabled"
	CodeRecoveryIO       Code = "unavailable.recovery_io"

	CodeCheckpointFormat Code = "unsupported.checkpoint_format"
	CodeCheckpointSize   Code = "unsupported.checkpoint_size"

	CodeUnsupported Code = "unsupported.verb"
	CodeOldWorker   Code = "unsupported.worker"
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
		{CodeNoSession, "there is no such session", nil, false},
		{CodeNoWindow, "there is no such window", nil, false},
		{CodeNoGrant, "there is no such grant or link, or none that the caller may know of", nil, false},
		{CodeNoDevice, "no browser of that id is paired", nil, false},
		{CodeNoKey, "there is no such setting", nil, false},
		{CodeNoCheck, "there is no such check", nil, false},
		{CodeNoCheckpoint, "there is no such checkpoint", nil, false},
		{CodeTag, "the tag breaks a rule, or is one that spawnd alone sets", []string{"param"}, false},
		{CodeKey, "there is no key of that name", []string{"param"}, false},
		{CodeRegex, "the expression is not one of RE2", []string{"param"}, false},
		{CodeSetting, "the settings have a fault; config.check names it", nil, false},
		{CodeSubscription, "the cursor or a filter is malformed", nil, false},
		{CodeCheckpointID, "the id is not that of a checkpoint", []string{"param"}, false},
		{CodeAckOrphans, "the acknowledgement is missing", []string{"param"}, false},
		{CodeToken, "the token is not one that this spawnd has issued", nil, true},
	},
	deniedCodes(),
	[]CodeSpec{
		{CodeReadOnly, "this viewer may only watch", nil, false},
		{CodeNotController, "another viewer controls the pane", nil, false},
		{CodeRequested, "another viewer has asked for control", nil, false},
		{CodeNoRequest, "no request for control is open any more", nil, false},
		{CodeLayer, "the pane is in the other layer, or is an archive, which keeps its layer", nil, false},
		{CodeNoSplit, "there is no split of that axis around the pane", nil, false},
		{CodeChanged, "somebody else changed the settings file meanwhile; nothing was written", nil, false},
		{CodeNotAtPrompt, "the shell is not at its prompt", nil, false},
		{CodeRecoveryBusy, "a checkpoint is being written", nil, false},
		{CodeOwnPane, "the caller is in that pane, or the pane shows the one that the caller is in: it would be shown within itself, without end", nil, false},
		{CodeNotEmpty, "there are sessions, windows or panes already", nil, false},
		{CodeNotArchive, "the pane is no archive", nil, false},
		{CodeArchive, "the pane is an archive: pane.relaunch replaces it", nil, false},
		{CodeNoCommand, "nobody knows what ran in the pane: an earlier spawnd started it", nil, false},
		{CodeCorrupt, "the checkpoint is damaged, or its generation is there twice", nil, false},
		{CodeExpired, "the checkpoint has expired, or is from the future", nil, false},
		{CodeNoDaemon, "no spawnd listens, it is on its way out, or it went away before it answered", nil, true},
		{CodeBusy, "too many connections, or requests of one pane, are at work", nil, true},
		{CodeTimeout, "the answer did not come in time", nil, true},
		{CodeEnded, "the pane's terminal has ended", nil, false},
		{CodeFull, "there are as many of them as there may be", nil, false},
		{CodeStart, "the terminal could not be started", nil, false},
		{CodeNoHistory, "the terminal's log cannot be read", nil, false},
		{CodeNoMarks, "the shell does not mark its prompts (OSC 133)", nil, false},
		{CodeOutcome, "what was asked for may have been done, and nobody can tell", nil, true},
		{CodeSettingsFile, "the settings file cannot be read or written safely", nil, false},
		{CodeNotInForce, "a part of spawnd could not get ready for the new settings; the old ones are in force", nil, false},
		{CodeSpawn, "the new execution failed", nil, false},
		{CodeRecoveryDisabled, "checkpoints are switched off", nil, false},
		{CodeRecoveryIO, "the store is unsafe, or could not be read or written durably", nil, false},
		{CodeCheckpointFormat, "the checkpoint is of a version that this spawnd does not know", nil, false},
		{CodeCheckpointSize, "the checkpoint is larger than may be", nil, false},
		{CodeOldWorker, "the terminal was started by an older spawn, which cannot do that", nil, false},
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
	"invalid": 2, "invalid_params": 2, "not_found": 3, "denied": 4, "conflict": 5, "unavailable": 6, "unsupported": 10,
}

// Exit is the exit code of the code's class: 1 for one that has none.
func (c Code) Exit() int {
	class, _, _ := strings.Cut(string(c), ".")
	if exit, ok := exits[class]; ok {
		return exit
	}
	return 1
}
