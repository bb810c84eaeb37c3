// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"time"
)

// Texts is what the verbs act on that type into terminals and read what they show.
type Texts interface {
	// SendPane types beside whoever controls the pane, whose size it leaves alone.
	SendPane(ctx context.Context, p PaneSendParams) (PaneSendResult, error)
	CapturePane(ctx context.Context, p PaneCaptureParams) (PaneCaptureResult, error)
	// WaitPane returns when what was asked for has come, or ctx ends.
	WaitPane(ctx context.Context, p PaneWaitParams) (PaneWaitResult, error)
	RunInPane(ctx context.Context, p PaneRunParams) (PaneRunResult, error)
	SearchPane(ctx context.Context, p PaneSearchParams) (PaneSearchResult, error)
	ExportPane(ctx context.Context, p PaneExportParams) (PaneExportResult, error)
}

// Names of the verbs of text.
const (
	PaneSend    = "pane.send"
	PaneCapture = "pane.capture"
	PaneWait    = "pane.wait"
	PaneRun     = "pane.run"
	PaneSearch  = "pane.search"
	PaneExport  = "pane.export"
)

type (
	// PaneSendParams have exactly one of text, keys and paste.
	PaneSendParams struct {
		Pane  string   `json:"pane" like:"pane" help:"id of the pane"`
		Text  string   `json:"text,omitzero" min:"1" max:"32768" help:"text to type as it is; a line ends with a carriage return"`
		Keys  []string `json:"keys,omitzero" min:"1" max:"256" cli:"rest" help:"keys to press by name, such as Enter, C-c, M-x, Up, F5, or one character"`
		Paste string   `json:"paste,omitzero" min:"1" max:"32768" help:"text to paste: bracketed when the program asked for that, and never able to end its own brackets"`
	}

	PaneSendResult struct {
		Bytes int `json:"bytes" help:"bytes that the terminal was given"`
	}

	PaneCaptureParams struct {
		Pane   string `json:"pane" like:"pane" help:"id of the pane"`
		Part   string `json:"part,omitzero" enum:"screen,history,all" help:"what to show; left out: the screen"`
		Format string `json:"format,omitzero" enum:"plain,styled" help:"plain text, or with the escape sequences of its styles; left out: plain"`
		First  int    `json:"first,omitzero" min:"-1000000" max:"1000000" help:"first row, where 0 is the first of the screen and the rows before it are the history; left out: the first there is"`
		Last   int    `json:"last,omitzero" min:"-1000000" max:"1000000" help:"last row; left out: the last there is"`
		Max    uint32 `json:"max,omitzero" min:"1" max:"100000" help:"most rows, the last ones; left out: 10000"`
	}

	PaneCaptureResult struct {
		Pane      string   `json:"pane" like:"pane" help:"id of the pane"`
		Cols      uint16   `json:"cols" help:"columns"`
		Rows      uint16   `json:"rows" help:"rows of the screen"`
		First     int      `json:"first" help:"row that the first line is"`
		Lines     []string `json:"lines" text:"terminal" help:"the rows, without the blanks at their ends"`
		Continued []int    `json:"continued,omitzero" help:"numbers of rows that continue the line of the row before, which was too long for one"`
		More      bool     `json:"more" help:"rows in front were left out for max"`
		Cursor    Cursor   `json:"cursor" help:"where the cursor is"`
		Modes     Modes    `json:"modes" help:"what the program has switched on"`
		Exited    bool     `json:"exited" help:"no program runs any more"`
		Recovered Archived `json:"recovery,omitzero" help:"of an archive: where it comes from"`
	}

	Cursor struct {
		Col     uint16 `json:"col" help:"column; the first is 0"`
		Row     uint16 `json:"row" help:"row; the first of the screen is 0"`
		Visible bool   `json:"visible" help:"it is shown"`
	}

	Modes struct {
		Alternate       bool `json:"alternate" help:"the alternate screen is shown"`
		BracketedPaste  bool `json:"bracketed_paste" help:"pastes are bracketed"`
		ApplicationKeys bool `json:"application_keys" help:"arrow keys send application sequences"`
		Mouse           bool `json:"mouse" help:"the program wants the mouse"`
	}

	// PaneWaitParams have exactly one of text, regex, idle_ms, exit and command.
	PaneWaitParams struct {
		Pane      string `json:"pane" like:"pane" help:"id of the pane"`
		Text      string `json:"text,omitzero" min:"1" max:"4096" help:"until this text is in a row"`
		Regex     string `json:"regex,omitzero" min:"1" max:"4096" help:"until a row matches this RE2 expression"`
		Idle      uint32 `json:"idle_ms,omitzero" min:"1" max:"3600000" help:"until nothing was shown for so many milliseconds"`
		Exit      bool   `json:"exit,omitzero" help:"until the terminal has ended"`
		Command   bool   `json:"command,omitzero" help:"until the command at the prompt has ended, by the shell's marks (OSC 133)"`
		New       bool   `json:"new,omitzero" help:"look at output that comes from now on alone; left out: at the screen first"`
		TimeoutMS uint32 `json:"timeout_ms,omitzero" min:"1" max:"3600000" help:"how long to wait; left out: 30000"`
	}

	PaneWaitResult struct {
		Line     string `json:"line" text:"terminal" help:"the row that matched; empty for what is no text"`
		ExitCode *int   `json:"exit_code" help:"of the command or the terminal; null when that is not known"`
		Signal   string `json:"signal" help:"the signal that ended the terminal; empty when none did"`
		WaitedMS uint32 `json:"waited_ms" help:"how long it took"`
	}

	PaneRunParams struct {
		Pane      string `json:"pane" like:"pane" help:"id of the pane, whose shell is at its prompt and marks it (OSC 133)"`
		Command   string `json:"command" min:"1" max:"32768" help:"the command line, without a line feed at its end"`
		TimeoutMS uint32 `json:"timeout_ms,omitzero" min:"1" max:"3600000" help:"how long to wait; left out: 30000. The command goes on"`
		Max       uint32 `json:"max,omitzero" min:"1" max:"4194304" help:"most bytes of output, the last ones; left out: 1048576"`
	}

	PaneRunResult struct {
		Output   string `json:"output" text:"terminal" help:"what the command showed, as plain text"`
		Cut      bool   `json:"cut" help:"output in front was left out for max"`
		ExitCode *int   `json:"exit_code" help:"of the command; null when the shell did not say"`
		WaitedMS uint32 `json:"waited_ms" help:"how long it took"`
	}

	PaneSearchParams struct {
		Pane       string `json:"pane" like:"pane" help:"id of the pane"`
		Text       string `json:"text,omitzero" min:"1" max:"4096" help:"text to look for; left out: regex is there"`
		Regex      string `json:"regex,omitzero" min:"1" max:"4096" help:"RE2 expression to look for"`
		IgnoreCase bool   `json:"ignore_case,omitzero" help:"take upper and lower case for the same"`
		Max        uint32 `json:"max,omitzero" min:"1" max:"10000" help:"most matches, the last ones; left out: 1000"`
	}

	PaneSearchResult struct {
		Matches []Match `json:"matches" help:"what was found, the oldest first"`
		More    bool    `json:"more" help:"there may be older ones: they were left out for max, or lie in rows that were not looked at"`
	}

	Match struct {
		Row    int    `json:"row" help:"row: 0 is the first of the screen, the rows before it are the history"`
		Col    uint16 `json:"col" help:"column; the first is 0"`
		Length uint32 `json:"length" help:"columns of the match, which goes on in the rows below where the line does"`
		Line   string `json:"line" text:"terminal" help:"the whole row, joined with those that the match goes on in"`
	}

	PaneExportParams struct {
		Pane   string `json:"pane" like:"pane" help:"id of the pane"`
		Format string `json:"format" enum:"plain,ansi,html,asciicast" help:"plain text, text with escape sequences, a page, or asciicast v3"`
		Max    uint32 `json:"max,omitzero" min:"1" max:"4194304" help:"most bytes, the last rows; left out: 4194304"`
	}

	PaneExportResult struct {
		Data string `json:"data" text:"terminal" help:"the whole document"`
		Cut  bool   `json:"cut" help:"rows in front were left out for max"`
	}
)

func (p PaneSendParams) on() Resource    { return onPane(p.Pane) }
func (p PaneCaptureParams) on() Resource { return onPane(p.Pane) }
func (p PaneWaitParams) on() Resource    { return onPane(p.Pane) }
func (p PaneRunParams) on() Resource     { return onPane(p.Pane) }
func (p PaneSearchParams) on() Resource  { return onPane(p.Pane) }
func (p PaneExportParams) on() Resource  { return onPane(p.Pane) }

// oneOf refuses anything but exactly one.
func oneOf(what, first string, there ...bool) *Error {
	count := 0
	for _, t := range there {
		if t {
			count++
		}
	}
	if count == 1 {
		return nil
	}
	return Errorf(CodeInvalidParams, "exactly one of %s is there", what).With("param", first)
}

func (p PaneSendParams) check() *Error {
	return oneOf("text, keys and paste", "text", p.Text != "", len(p.Keys) > 0, p.Paste != "")
}

func (p PaneCaptureParams) check() *Error {
	if p.First != 0 && p.Last != 0 && p.Last < p.First {
		return Errorf(CodeInvalidParams, "last is not before first").With("param", "last")
	}
	return nil
}

func (p PaneWaitParams) check() *Error {
	return oneOf("text, regex, idle_ms, exit and command", "text", p.Text != "", p.Regex != "", p.Idle != 0, p.Exit, p.Command)
}

func (p PaneSearchParams) check() *Error {
	return oneOf("text and regex", "text", p.Text != "", p.Regex != "")
}

const waitDefault = 30 * time.Second // of timeout_ms

func within(ms uint32) time.Duration {
	if ms == 0 {
		return waitDefault
	}
	return time.Duration(ms) * time.Millisecond
}

var textVerbs = []Verb{
	row[PaneSendParams, PaneSendResult]{
		Name: PaneSend, Summary: "type into a pane: text, keys by name, or a paste", Right: RightWrite, Types: true,
		Errors: []Code{CodeNoPane, CodeEnded, CodeKey, CodeOldWorker}, Example: PaneSendParams{Pane: "p0", Keys: []string{"C-c", "Enter"}},
		Do: via(Texts.SendPane),
	}.verb(),
	row[PaneCaptureParams, PaneCaptureResult]{
		Name: PaneCapture, Summary: "show what a pane shows", Right: RightRead,
		Errors: []Code{CodeNoPane, CodeEnded, CodeNoHistory, CodeOldWorker}, Example: PaneCaptureParams{Pane: "p0", Part: "all", Max: 500},
		Do: via(Texts.CapturePane),
	}.verb(),
	row[PaneWaitParams, PaneWaitResult]{
		Name: PaneWait, Summary: "wait until a pane shows a text, is idle, or has ended", Right: RightRead,
		Errors: []Code{CodeNoPane, CodeEnded, CodeRegex, CodeNoMarks, CodeOldWorker}, Example: PaneWaitParams{Pane: "p0", Text: "listening on", TimeoutMS: 10000},
		Within: func(p PaneWaitParams) time.Duration { return within(p.TimeoutMS) },
		Do:     via(Texts.WaitPane),
	}.verb(),
	row[PaneRunParams, PaneRunResult]{
		Name: PaneRun, Summary: "run a command in a pane's shell and return what it showed and how it ended", Right: RightWrite, Types: true,
		Also:   []also[PaneRunParams]{{Right: RightRead}},
		Errors: []Code{CodeNoPane, CodeEnded, CodeNoMarks, CodeNotAtPrompt, CodeOldWorker}, Example: PaneRunParams{Pane: "p0", Command: "make test", TimeoutMS: 600000},
		Within: func(p PaneRunParams) time.Duration { return within(p.TimeoutMS) },
		Do:     via(Texts.RunInPane),
	}.verb(),
	row[PaneSearchParams, PaneSearchResult]{
		Name: PaneSearch, Summary: "search a pane's screen and history", Right: RightRead,
		Errors: []Code{CodeNoPane, CodeEnded, CodeRegex, CodeNoHistory, CodeOldWorker}, Example: PaneSearchParams{Pane: "p0", Text: "error", IgnoreCase: true},
		Do: via(Texts.SearchPane),
	}.verb(),
	row[PaneExportParams, PaneExportResult]{
		Name: PaneExport, Summary: "write a pane's screen and history as a document", Right: RightRead,
		Errors: []Code{CodeNoPane, CodeEnded, CodeNoHistory, CodeOldWorker}, Example: PaneExportParams{Pane: "p0", Format: "html"},
		Do: via(Texts.ExportPane),
	}.verb(),
}
