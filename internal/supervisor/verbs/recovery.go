// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Checkpoints is what the verbs of recovery act on (recovery specification, section 6).
type Checkpoints interface {
	Checkpoint(ctx context.Context, p Empty) (CheckpointResult, error)
	Checkpoints(ctx context.Context, p Empty) (RecoveryListResult, error)
	InspectCheckpoint(ctx context.Context, p RecoveryInspectParams) (RecoveryInspectResult, error)
	RestoreCheckpoint(ctx context.Context, p CheckpointParams) (RecoveryRestoreResult, error)
	ForgetCheckpoint(ctx context.Context, p CheckpointParams) (Empty, error)
	RelaunchPane(ctx context.Context, p PaneRelaunchParams) (PaneRelaunchResult, error)
}

// Names of the verbs of recovery.
const (
	RecoveryCheckpoint = "recovery.checkpoint"
	RecoveryList       = "recovery.list"
	RecoveryInspect    = "recovery.inspect"
	RecoveryRestore    = "recovery.restore"
	RecoveryForget     = "recovery.forget"
	PaneRelaunch       = "pane.relaunch"
)

type (
	CheckpointParams struct {
		Checkpoint string `json:"checkpoint" like:"checkpoint" fault:"invalid_params.checkpoint" help:"id of the checkpoint"`
	}

	CheckpointResult struct {
		Checkpoint string `json:"checkpoint" like:"checkpoint" help:"id of the checkpoint"`
		Generation uint64 `json:"generation" help:"grows with each checkpoint of the store"`
	}

	RecoveryListResult struct {
		Checkpoints []CheckpointStatus `json:"checkpoints" help:"by growing generation, then those without one by id"`
	}

	CheckpointStatus struct {
		Checkpoint string `json:"checkpoint" like:"checkpoint" help:"id of the checkpoint"`
		Status     string `json:"status" enum:"valid,corrupt,incompatible,expired,unsafe,future" help:"whether it can be restored"`
		Generation uint64 `json:"generation,omitzero" help:"left out when it could not be read safely; what follows is told of valid ones alone"`
		Leading    bool   `json:"leading,omitzero" help:"the one to look at first: the newest, unless that is what a shutdown of the host left over"`
		CapturedAt int64  `json:"captured_at,omitzero" help:"when it was captured, in Unix milliseconds"`
		Shutdown   string `json:"shutdown,omitzero" help:"clean: every process had ended and was reaped; open otherwise"`
		Panes      uint64 `json:"panes,omitzero" help:"how many panes it has"`
		Running    uint64 `json:"running,omitzero" help:"how many of them ran"`
		TextPanes  uint64 `json:"text_panes,omitzero" help:"panes whose text is in it"`
	}

	RecoveryInspectParams struct {
		Checkpoint string `json:"checkpoint" like:"checkpoint" fault:"invalid_params.checkpoint" help:"id of the checkpoint"`
		Topology   bool   `json:"topology,omitzero" help:"tell besides what a restore would make, and where"`
	}

	RecoveryInspectResult struct {
		Checkpoint       string `json:"checkpoint" like:"checkpoint" help:"id of the checkpoint"`
		Generation       uint64 `json:"generation" help:"its generation"`
		Shutdown         string `json:"shutdown" enum:"open,clean" help:"clean: every process had ended and was reaped"`
		Sessions         uint64 `json:"sessions" help:"how many sessions it has"`
		Windows          uint64 `json:"windows" help:"how many windows"`
		Panes            uint64 `json:"panes" help:"how many panes"`
		TextPanes        uint64 `json:"text_panes" help:"panes whose text is in it"`
		ExpiredTextPanes uint64 `json:"expired_text_panes" help:"panes whose text may not be read any more"`

		Topology Outline `json:"topology,omitzero" help:"what a restore would make, when it was asked for"`
	}

	// Outline is what a restore would make of a checkpoint, under the ids that were saved. They are of a file, so they
	// may be longer than those of what there is.
	Outline struct {
		Sessions []OutlinedSession `json:"sessions" help:"by the number in their ids, as windows and panes are"`
		Windows  []OutlinedWindow  `json:"windows" help:"with the trees of their tiled panes"`
		Panes    []OutlinedPane    `json:"panes" help:"one that is in no tree is a float"`
	}

	OutlinedSession struct {
		Session string `json:"session" help:"id as it was saved"`
		Name    string `json:"name" help:"its name"`
	}

	OutlinedWindow struct {
		Window  string `json:"window" help:"id as it was saved"`
		Session string `json:"session" help:"id of its session"`
		Name    string `json:"name" help:"its name; empty when it had none"`
		Nodes   []Node `json:"nodes" help:"its tree in preorder, as of any window; empty when all its panes are floats"`
	}

	OutlinedPane struct {
		Pane         string `json:"pane" help:"id as it was saved"`
		Window       string `json:"window" help:"id of its window"`
		Title        string `json:"title,omitzero" help:"of a float: the title in its border, if one was given"`
		Cols         uint16 `json:"cols" help:"columns"`
		Rows         uint16 `json:"rows" help:"rows"`
		ProcessState string `json:"process_state" enum:"exited,interrupted" help:"what was seen of its process; never that it does not run any more"`
		ExitCode     *int   `json:"exit_code" help:"how it ended; null when that is not known, and after a signal"`
		Signal       string `json:"signal" help:"signal that ended it; empty when none did"`
		TextState    string `json:"text_state" enum:"omitted,expired,plain" help:"whether its text is there"`
	}

	RecoveryRestoreResult struct {
		Checkpoint string       `json:"checkpoint" like:"checkpoint" help:"id of the checkpoint"`
		Sessions   []Renumbered `json:"sessions" help:"what became of the sessions' ids"`
		Windows    []Renumbered `json:"windows" help:"what became of the windows' ids"`
		Panes      []Renumbered `json:"panes" help:"what became of the panes' ids"`
	}

	// Renumbered is one id, as it was saved and as it is now.
	Renumbered struct {
		Previous string `json:"previous" help:"id as it was saved"`
		Current  string `json:"current" help:"id as it is now"`
	}

	// Archived says where an archive comes from.
	Archived struct {
		Checkpoint   string `json:"checkpoint" like:"checkpoint" help:"id of the checkpoint"`
		PreviousPane string `json:"previous_pane" help:"id that the pane had when it was saved"`
		ProcessState string `json:"process_state" enum:"exited,interrupted" help:"what was seen of its process; never that it does not run any more"`
		TextState    string `json:"text_state" enum:"omitted,expired,plain" help:"whether its text is there"`
		CutRows      uint64 `json:"cut_rows" help:"saved rows that are shown cut at the last column"`
	}

	PaneRelaunchParams struct {
		Pane       string   `json:"pane" like:"pane" help:"id of the archive"`
		Argv       []string `json:"argv" min:"1" max:"256" cli:"rest" help:"the command and its arguments: a new execution, not a continuation"`
		AckOrphans bool     `json:"ack_orphans" help:"true acknowledges that earlier processes may still run, and that this may do their work twice"`
		Grants     []Scope  `json:"grants,omitzero" min:"1" max:"16" help:"what the new pane is given beside its own, of what the caller has"`
	}

	PaneRelaunchResult struct {
		Pane      string `json:"pane" like:"pane" help:"id of the new pane"`
		Window    string `json:"window" like:"window" help:"id of its window"`
		Session   string `json:"session" like:"session" help:"id of its session"`
		Principal string `json:"principal" help:"principal of what runs in it"`
		PID       int    `json:"pid" help:"process id of the worker; 0 when it is gone already, and the pane lost"`
	}
)

func (CheckpointParams) on() Resource      { return ServerRoot }
func (RecoveryInspectParams) on() Resource { return ServerRoot }
func (p PaneRelaunchParams) on() Resource  { return onPane(p.Pane) }

func (p PaneRelaunchParams) check() *Error {
	if !p.AckOrphans {
		return Errorf(CodeAckOrphans, "ack_orphans has to be true: earlier processes may still run").With("param", "ack_orphans")
	}
	if err := checkRights(p.Grants, "grants"); err != nil {
		return err
	}
	return PaneNewParams{Argv: p.Argv}.check()
}

const exampleCheckpoint = "c01234567-89ab-4cde-8fab-0123456789ab"

var recoveryVerbs = []Verb{
	row[Empty, CheckpointResult]{
		Name: RecoveryCheckpoint, Summary: "save what there is now", Right: RightAdmin,
		Errors: []Code{CodeRecoveryBusy, CodeRecoveryDisabled, CodeRecoveryIO, CodeCheckpointSize},
		Do:     via(Checkpoints.Checkpoint),
	}.verb(),
	row[Empty, RecoveryListResult]{
		Name: RecoveryList, Summary: "list the checkpoints", Right: RightAdmin,
		Errors: []Code{CodeRecoveryIO},
		Do:     via(Checkpoints.Checkpoints),
	}.verb(),
	row[RecoveryInspectParams, RecoveryInspectResult]{
		Name: RecoveryInspect, Summary: "tell what is in a checkpoint, and nothing of any text", Right: RightAdmin,
		Errors: checkpointCodes(), Example: RecoveryInspectParams{Checkpoint: exampleCheckpoint},
		Do: via(Checkpoints.InspectCheckpoint),
	}.verb(),
	row[CheckpointParams, RecoveryRestoreResult]{
		Name: RecoveryRestore, Summary: "make archives of a checkpoint, when there is nothing yet; nothing is started", Right: RightAdmin,
		Errors: append(checkpointCodes(), CodeNotEmpty, CodeRecoveryDisabled), Example: CheckpointParams{exampleCheckpoint},
		Do: via(Checkpoints.RestoreCheckpoint),
	}.verb(),
	row[CheckpointParams, Empty]{
		Name: RecoveryForget, Summary: "delete one checkpoint", Right: RightAdmin,
		Errors: []Code{CodeCheckpointID, CodeNoCheckpoint, CodeRecoveryIO}, Example: CheckpointParams{exampleCheckpoint},
		Do: via(Checkpoints.ForgetCheckpoint),
	}.verb(),
	row[PaneRelaunchParams, PaneRelaunchResult]{
		Name: PaneRelaunch, Summary: "replace an archive by a new terminal", Right: RightSpawn, Also: []also[PaneRelaunchParams]{{Right: RightWrite}},
		Errors:  delegated(CodeAckOrphans, CodeNoPane, CodeNoWindow, CodeNoSession, CodeNotArchive, CodeSpawn, CodeFull),
		Example: PaneRelaunchParams{Pane: "p0", Argv: []string{"/bin/sh"}, AckOrphans: true},
		Do:      via(Checkpoints.RelaunchPane),
	}.verb(),
}

// checkpointCodes are why a checkpoint that was named may not be read.
func checkpointCodes() []Code {
	return []Code{CodeCheckpointID, CodeNoCheckpoint, CodeCorrupt, CodeExpired, CodeRecoveryIO, CodeCheckpointFormat, CodeCheckpointSize}
}
