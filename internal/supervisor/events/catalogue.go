// SPDX-License-Identifier: Apache-2.0

package events

//go:generate go run -C ../../.. ./internal/supervisor/events/gen

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Type names what happened.
type Type string

const (
	SessionCreated Type = "session.created"
	SessionRenamed Type = "session.renamed"
	SessionMoved   Type = "session.moved"
	SessionClosed  Type = "session.closed"

	WindowCreated       Type = "window.created"
	WindowRenamed       Type = "window.renamed"
	WindowLayoutChanged Type = "window.layout_changed"
	WindowActivated     Type = "window.activated"
	WindowMoved         Type = "window.moved"
	WindowClosed        Type = "window.closed"

	PaneCreated      Type = "pane.created"
	PaneRenamed      Type = "pane.renamed"
	PaneMoved        Type = "pane.moved"
	PaneRemoved      Type = "pane.removed"
	PaneExited       Type = "pane.exited"
	PaneRevived      Type = "pane.revived"
	PaneRestarted    Type = "pane.restarted"
	PaneArchived     Type = "pane.archived"
	PaneTagged       Type = "pane.tagged"
	PaneTitle        Type = "pane.title"
	PaneCwd          Type = "pane.cwd"
	PaneBell         Type = "pane.bell"
	PaneNotification Type = "pane.notification"
	PaneActivity     Type = "pane.activity"

	CommandStarted  Type = "command.started"
	CommandFinished Type = "command.finished"

	ControlChanged Type = "control.changed"
	ViewerAttached Type = "viewer.attached"
	ViewerDetached Type = "viewer.detached"

	GrantIssued   Type = "grant.issued"
	GrantRevoked  Type = "grant.revoked"
	ShareCreated  Type = "share.created"
	ShareRevoked  Type = "share.revoked"
	DevicePaired  Type = "device.paired"
	DeviceRevoked Type = "device.revoked"

	ConfigReloaded   Type = "config.reloaded"
	RecoveryRestored Type = "recovery.restored"
	ServerStopping   Type = "server.stopping"
)

// A Shape is what a field holds.
type Shape string

const (
	Text  Shape = "string"  // of characters that show, at most fieldBytesMax bytes
	Count Shape = "integer" // int64
	Flag  Shape = "boolean"
	Texts Shape = "strings"
	Value Shape = "object" // Raw: JSON that another room has made, at most rawBytesMax bytes
)

// Raw is JSON as it goes out. Its texts were made clean by who made it.
type Raw []byte

// MarshalJSON is the text itself.
func (r Raw) MarshalJSON() ([]byte, error) { return r, nil }

// A Field is one member of an event's data.
type Field struct {
	Name     string
	Shape    Shape
	Content  bool // a program, or a person, chose it: only for who may read the resource
	Optional bool
	Help     string
}

// An Entry describes one type of event. The reference in docs is made of these.
type Entry struct {
	Type   Type
	Kind   string // of the resource: server, session, window or pane; "any" for what is shared
	Right  string // needed on the resource, to be told of it whole
	Fields []Field
	// Slot is what events have in common of which only the last one counts, once they come too fast;
	// empty for those that are never held back. Burst is how many may come at once before that.
	Slot  string
	Burst int
	// Whole says that who may see no more than an outline is told nothing.
	Whole bool
	// Reseeds says that others may be able to see other resources afterwards.
	Reseeds bool
	Help    string
}

func text(name, help string) Field { return Field{Name: name, Shape: Text, Help: help} }
func content(name, help string) Field {
	return Field{Name: name, Shape: Text, Content: true, Help: help}
}
func count(name, help string) Field { return Field{Name: name, Shape: Count, Help: help} }
func list(name, help string) Field  { return Field{Name: name, Shape: Texts, Help: help} }

func value(name, help string) Field { return Field{Name: name, Shape: Value, Help: help} }

func (f Field) maybe() Field     { f.Optional = true; return f }
func (f Field) asContent() Field { f.Content = true; return f }

// commandBurst is for scripts that wait for commands of theirs: some dozens at once are told one by one.
const commandBurst = 32

var catalogue = []Entry{
	{Type: SessionCreated, Kind: "session", Right: "read", Fields: []Field{content("name", "what people call it")}, Help: "a session is there"},
	{Type: SessionRenamed, Kind: "session", Right: "read", Fields: []Field{content("name", "its new name")}, Help: "a session has another name"},
	{Type: SessionMoved, Kind: "session", Right: "read", Fields: []Field{count("index", "its place among the others, from 0")}, Help: "a session is in another place"},
	{Type: SessionClosed, Kind: "session", Right: "read", Help: "a session is gone, after all that was in it"},

	{Type: WindowCreated, Kind: "window", Right: "read", Fields: []Field{text("session", "where it is"), content("name", "what people call it"), value("nodes", "its splits and panes, as the tree of window.list").maybe()}, Help: "a window is there"},
	{Type: WindowRenamed, Kind: "window", Right: "read", Fields: []Field{content("name", "its new name")}, Help: "a window has another name"},
	{Type: WindowLayoutChanged, Kind: "window", Right: "read", Fields: []Field{count("revision", "grows with each change"), value("nodes", "its splits and panes, as the tree of window.list").maybe(), text("zoomed", "pane that hides the others").maybe()}, Help: "the splits or floats of a window are others"},
	{Type: WindowActivated, Kind: "window", Right: "read", Fields: []Field{text("pane", "that has the keys; empty without panes")}, Help: "another pane of a window has the keys"},
	{Type: WindowMoved, Kind: "window", Right: "read", Reseeds: true, Fields: []Field{text("session", "where it is now"), count("index", "its place there, from 0")}, Help: "a window is in another place"},
	{Type: WindowClosed, Kind: "window", Right: "read", Help: "a window is gone, after all that was in it"},

	{Type: PaneCreated, Kind: "pane", Right: "read", Fields: []Field{text("window", "where it is"), content("name", "what people call it"), text("layer", "float, when it is not tiled").maybe(), value("float", "how it is drawn then, as the floats of window.list").asContent().maybe(), list("tags", "key=value, sorted").asContent().maybe(), value("recovery", "of an archive").asContent().maybe(), content("argv0", "name of what it was started with, without its folder").maybe()}, Help: "a pane is there"},
	{Type: PaneRenamed, Kind: "pane", Right: "read", Fields: []Field{content("name", "its new name")}, Help: "a pane has another name"},
	{Type: PaneMoved, Kind: "pane", Right: "read", Reseeds: true, Fields: []Field{text("window", "where it is now"), text("layer", "float, when it is not tiled").maybe(), value("float", "how it is drawn then, as the floats of window.list").asContent().maybe()}, Help: "a pane is in another window or layer, or a float was moved"},
	{Type: PaneRemoved, Kind: "pane", Right: "read", Fields: []Field{text("reason", "not_started: its program could not be started, and never ran; left out when the pane was closed or replaced").maybe()}, Help: "a pane is gone"},
	{Type: PaneExited, Kind: "pane", Right: "read", Fields: []Field{count("exit_code", "of its program; neither this nor a signal when nobody knows").maybe(), text("signal", "that ended its program").maybe()}, Help: "the program of a pane has ended"},
	{Type: PaneRevived, Kind: "pane", Right: "read", Help: "a pane that was given up turned out to be alive"},
	{Type: PaneRestarted, Kind: "pane", Right: "read", Help: "another program runs in the pane, after the end of the one before"},
	{Type: PaneArchived, Kind: "pane", Right: "read", Fields: []Field{value("recovery", "what is known of it").asContent()}, Help: "what there is of an archive is another"},
	{Type: PaneTagged, Kind: "pane", Right: "read", Fields: []Field{list("tags", "all of them now, as key=value, sorted").asContent()}, Help: "the tags of a pane are others"},
	{Type: PaneTitle, Kind: "pane", Right: "read", Slot: "title", Burst: 1, Fields: []Field{content("title", "what the program calls it")}, Help: "the program set a title (OSC 0, 2)"},
	{Type: PaneCwd, Kind: "pane", Right: "read", Slot: "cwd", Burst: 1, Fields: []Field{content("cwd", "as the shell says")}, Help: "the shell is in another folder (OSC 7)"},
	{Type: PaneBell, Kind: "pane", Right: "read", Slot: "bell", Burst: 1, Help: "the bell rang"},
	{Type: PaneNotification, Kind: "pane", Right: "read", Slot: "notification", Burst: 1, Fields: []Field{content("text", "what the program wants to tell")}, Help: "the program asks for attention (OSC 9, 99, 777)"},
	{Type: PaneActivity, Kind: "pane", Right: "read", Slot: "activity", Burst: 1, Help: "there was output"},

	{Type: CommandStarted, Kind: "pane", Right: "read", Slot: "command", Burst: commandBurst, Help: "the shell runs a command (OSC 133 C)"},
	{Type: CommandFinished, Kind: "pane", Right: "read", Slot: "command", Burst: commandBurst, Fields: []Field{count("exit_code", "as the shell says, when it does").maybe()}, Help: "the command has ended (OSC 133 D)"},

	{Type: ControlChanged, Kind: "pane", Right: "read", Fields: []Field{count("generation", "grows with each change"), text("viewer", "who controls now").maybe(), content("name", "of that viewer").maybe()}, Help: "another viewer types and sizes, or none"},
	{Type: ViewerAttached, Kind: "pane", Right: "read", Fields: []Field{text("viewer", "its id"), content("name", "what it is called"), {Name: "read_only", Shape: Flag, Help: "it only watches"}}, Help: "somebody looks at the pane"},
	{Type: ViewerDetached, Kind: "pane", Right: "read", Fields: []Field{text("viewer", "its id"), text("reason", "why, in a word").maybe()}, Help: "and no longer does"},

	{Type: GrantIssued, Kind: "server", Right: "admin", Reseeds: true, Fields: []Field{text("grant", "its id"), text("to", "who has it"), text("by", "who gave it"), list("scopes", "right on resource, one each"), content("label", "what it is called"), count("expires_at", "Unix milliseconds").maybe()}, Help: "somebody was given rights"},
	{Type: GrantRevoked, Kind: "server", Right: "admin", Reseeds: true, Fields: []Field{text("grant", "its id"), text("reason", "revoked, expired, issuer_gone or resource_gone")}, Help: "and has them no longer"},
	{Type: ShareCreated, Kind: "any", Right: "admin", Reseeds: true, Fields: []Field{text("share", "its id"), text("right", "read or write"), text("by", "who made it"), content("label", "what it is called"), count("expires_at", "Unix milliseconds")}, Help: "there is a link to the pane or session"},
	{Type: ShareRevoked, Kind: "any", Right: "admin", Reseeds: true, Fields: []Field{text("share", "its id"), text("reason", "as of grant.revoked")}, Help: "and it opens nothing any more"},
	{Type: DevicePaired, Kind: "server", Right: "admin", Reseeds: true, Fields: []Field{text("device", "its id"), content("name", "what it calls itself")}, Help: "a browser was paired"},
	{Type: DeviceRevoked, Kind: "server", Right: "admin", Reseeds: true, Fields: []Field{text("device", "its id")}, Help: "and is not any more"},

	{Type: ConfigReloaded, Kind: "server", Right: "read", Reseeds: true, Fields: []Field{list("keys", "that have another value now")}, Help: "the configuration was read anew"},
	{Type: RecoveryRestored, Kind: "server", Right: "read", Whole: true, Fields: []Field{text("checkpoint", "its id"), {Name: "cleanup_unverified", Shape: Flag, Help: "always true: what ran before may still run"}}, Help: "a checkpoint was restored, in the same commit as what came of it"},
	{Type: ServerStopping, Kind: "server", Right: "read", Help: "the last event of this source"},
}

// Catalogue lists every type there is.
func Catalogue() []Entry { return slices.Clone(catalogue) }

var entries = func() map[Type]*Entry {
	m := make(map[Type]*Entry, len(catalogue))
	for i := range catalogue {
		m[catalogue[i].Type] = &catalogue[i]
	}
	return m
}()

// fits checks data against the entry: every field there is, and no other.
func (e *Entry) fits(data map[string]any) error {
	known := 0
	for _, f := range e.Fields {
		value, there := data[f.Name]
		switch {
		case !there && f.Optional:
		case !there:
			return fmt.Errorf("%s has no field %s", e.Type, f.Name)
		default:
			known++
			if err := f.fits(value); err != nil {
				return fmt.Errorf("%s: %w", e.Type, err)
			}
		}
	}
	if known != len(data) {
		return fmt.Errorf("%s has a field that the catalogue does not name", e.Type)
	}
	return nil
}

func (f Field) fits(value any) error {
	ok := false
	switch v := value.(type) {
	case string:
		ok = f.Shape == Text && shows(v)
	case int64:
		ok = f.Shape == Count
	case bool:
		ok = f.Shape == Flag
	case Raw:
		ok = f.Shape == Value && len(v) > 0 && len(v) <= rawBytesMax
	case []string:
		ok = f.Shape == Texts && len(v) <= listMax && !slices.ContainsFunc(v, func(s string) bool { return !shows(s) })
	}
	if !ok {
		return fmt.Errorf("field %s is no %s of characters that show, or is too long", f.Name, f.Shape)
	}
	return nil
}

// shows reports whether a text may go to every place that events go to: pages, terminals and logs. Who
// commits has made it clean; this finds who has not. Joiners are kept, as names keep them.
func shows(s string) bool {
	if len(s) > fieldBytesMax || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsGraphic(r) && r != '\u200c' && r != '\u200d' || unicode.In(r, unicode.Zl, unicode.Zp) {
			return false
		}
	}
	return true
}
