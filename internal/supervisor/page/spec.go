// SPDX-License-Identifier: Apache-2.0

package page

//go:generate go run -C ../../.. ./internal/supervisor/page/gen

import "reflect"

// VerbSpec describes one request of spawn.ctl.
type VerbSpec struct {
	Name   string
	Params reflect.Type
	Result reflect.Type
	Help   string // one line
}

// EventSpec describes one event of spawn.ctl.
type EventSpec struct {
	Name string
	Type reflect.Type
	Help string // one line
}

// Verbs is the table of requests that are a page's own.
func Verbs() []VerbSpec {
	var specs []VerbSpec
	for _, v := range own() {
		specs = append(specs, v.VerbSpec)
	}
	return specs
}

// Events is the table of events.
func Events() []EventSpec {
	return []EventSpec{
		{"pane", reflect.TypeFor[PaneEvent](), "a pane is new or has changed"},
		{"pane_removed", reflect.TypeFor[PaneRemovedEvent](), "a pane is gone from the list"},
		{"panes_ready", reflect.TypeFor[PanesReadyEvent](), "every pane that existed at hello has been told"},
		{"arranged", reflect.TypeFor[ArrangedEvent](), "sessions, windows or their trees have changed: ask for them again"},
		{"snapshot", reflect.TypeFor[SnapshotEvent](), "a piece of a snapshot"},
		{"history_delta", reflect.TypeFor[HistoryDeltaEvent](), "lines were committed to the history"},
		{"history_wipe", reflect.TypeFor[HistoryWipeEvent](), "the history was erased by the program"},
		{"history_gap", reflect.TypeFor[HistoryGapEvent](), "deltas were left out: take a full snapshot"},
		{"size", reflect.TypeFor[SizeEvent](), "the terminal has a new size"},
		{"control", reflect.TypeFor[ControlEvent](), "who controls the pane, and who asks to"},
		{"bell", reflect.TypeFor[BellEvent](), "the program rang the bell, or has something to tell"},
		{"exit", reflect.TypeFor[ExitEvent](), "the shell has ended"},
		{"lost", reflect.TypeFor[LostEvent](), "the worker is gone; how the shell ended is unknown"},
		{"dropped", reflect.TypeFor[DroppedEvent](), "this viewer was too slow: attach again"},
	}
}
