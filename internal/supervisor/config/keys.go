// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"spawn/internal/supervisor/loopback"
)

// Kind is the type of a key's value.
type Kind string

const (
	Bool  Kind = "boolean" // true or false
	Int   Kind = "integer" // a whole number within Min and Max
	Text  Kind = "string"  // one of Enum, or what Rule admits
	Words Kind = "array"   // of strings: a program and its arguments
	Table Kind = "table"   // of presets
)

const (
	textMax  = 256  // bytes of a Text
	wordsMax = 64   // entries of Words
	wordMax  = 4096 // bytes of each

	// A worker needs some memory and threads before its shell has any; a limit below would end every
	// terminal at its start.
	memoryMaxLeast = 64 << 20
	tasksMaxLeast  = 64

	// A worker refuses a log that costs more; of one that costs less than the least, files and folders would be the most of
	// it. A file of the log is not worth an inode for less than a block.
	logBytesMax       = 8 << 20
	logBytesLeast     = 256 << 10
	segmentBytesLeast = 4 << 10
)

// Key is one setting. The table of keys is the one place that knows its limits: the parser, the editor, the
// JSON Schema and docs/config.md are made from it.
type Key struct {
	Path     string // "section.name"
	Kind     Kind
	Default  any      // bool, int64, string, []string or []Preset
	Min, Max int64    // of an Int
	OrZero   bool     // an Int may also be 0, which is none
	Enum     []string // of a Text; nil when Rule decides
	Rule     string   // what a Text or Words must be, for people; "" without a rule
	Live     bool     // takes effect at a reload; else at the next start
	Help     string   // whole sentences

	check func(any) error // of Rule; nil without
	at    func(*Config) any
}

// Section is a group of keys.
type Section struct {
	Name string
	Help string
}

// Sections lists them in the order of the documents.
func Sections() []Section { return slices.Clone(sections) }

// Keys lists every key, section by section.
func Keys() []Key { return slices.Clone(keys) }

var sections = []Section{
	{"serve", "Where spawnd can be reached. Flags of `spawnd serve` win over these."},
	{"shell", "What a new terminal runs."},
	{"terminal", "What a new terminal gets when nobody says otherwise."},
	{"viewers", "Who looks on."},
	{"floats", "How panes above the splits are drawn."},
	{"access", "What is granted without being asked for."},
	{"recovery", "What is kept for the time after a reboot, when no worker lives: checkpoints of names and splits and, only on request, of text."},
	{"shutdown", "What the end of spawnd means for its terminals."},
}

var keys = []Key{
	{Path: "serve.listen", Kind: Text, Default: "127.0.0.1:7717", Rule: "a loopback address, HOST:PORT", check: checkListen,
		Help: "Address of the page. Port 0 picks one. A browser keeps what it knows of a host by the address, so a fixed one is better.",
		at:   func(c *Config) any { return &c.Serve.Listen }},
	{Path: "serve.peer_port", Kind: Int, Default: int64(0), Max: 65535,
		Help: "Port of the channels, over UDP and TCP, on the page's address. 0 picks one; a tunnel needs a fixed one.",
		at:   func(c *Config) any { return &c.Serve.PeerPort }},

	{Path: "shell.command", Kind: Words, Default: []string{}, Rule: "empty, or an absolute path and its arguments", check: checkCommand, Live: true,
		Help: "The program of a new terminal. Empty is your login shell.",
		at:   func(c *Config) any { return &c.Shell.Command }},
	{Path: "shell.integration", Kind: Bool, Default: true, Live: true,
		Help: "Let shells mark prompts and commands (OSC 133) and tell their folder (OSC 7) by scripts that are loaded at start. Your own files are not changed.",
		at:   func(c *Config) any { return &c.Shell.Integration }},

	{Path: "terminal.cols", Kind: Int, Default: int64(80), Min: 1, Max: 1000, Live: true,
		Help: "Columns until somebody attaches.", at: func(c *Config) any { return &c.Terminal.Cols }},
	{Path: "terminal.rows", Kind: Int, Default: int64(24), Min: 1, Max: 1000, Live: true,
		Help: "Rows until somebody attaches.", at: func(c *Config) any { return &c.Terminal.Rows }},
	{Path: "terminal.memory_max_bytes", Kind: Int, Default: int64(0), Min: memoryMaxLeast, Max: 1 << 50, OrZero: true, Live: true,
		Help: "Most memory that all processes of one terminal may use (MemoryMax= of its scope). 0 is no limit. Needs systemd; counts for terminals started later.",
		at:   func(c *Config) any { return &c.Terminal.MemoryMaxBytes }},
	{Path: "terminal.tasks_max", Kind: Int, Default: int64(0), Min: tasksMaxLeast, Max: 4194304, OrZero: true, Live: true,
		Help: "Most processes and threads of one terminal (TasksMax= of its scope). 0 is no limit. Needs systemd; counts for terminals started later.",
		at:   func(c *Config) any { return &c.Terminal.TasksMax }},
	{Path: "terminal.cpu_weight", Kind: Int, Default: int64(0), Min: 1, Max: 10000, OrZero: true, Live: true,
		Help: "Share of the processor against other terminals (CPUWeight= of its scope; 100 is usual). 0 leaves it to the system. Needs systemd; counts for terminals started later.",
		at:   func(c *Config) any { return &c.Terminal.CPUWeight }},

	{Path: "terminal.log_bytes", Kind: Int, Default: int64(0), Min: logBytesLeast, Max: logBytesMax, OrZero: true, Live: true,
		Help: "What the encrypted history of one terminal may cost the host, in storage and memory together; a sixth to a quarter of it is text. 0 is the most, 8388608. Counts for terminals started later.",
		at:   func(c *Config) any { return &c.Terminal.LogBytes }},
	{Path: "terminal.log_segment_bytes", Kind: Int, Default: int64(0), Min: segmentBytesLeast, Max: logBytesMax, OrZero: true, Live: true,
		Help: "What is added to a file of that history before the next one begins; the oldest file goes first, as a whole. 0 is 262144, or an eighth of `terminal.log_bytes` where that is less.",
		at:   func(c *Config) any { return &c.Terminal.LogSegmentBytes }},

	{Path: "viewers.max", Kind: Int, Default: int64(64), Min: 1, Max: 64, Live: true,
		Help: "Most viewers of one terminal. Those that are there stay when it is lowered.",
		at:   func(c *Config) any { return &c.Viewers.Max }},

	{Path: "floats.presets", Kind: Table, Default: []Preset{}, check: checkPresets, Live: true,
		Rule: "a list of presets, each with its name (namespace.name) and any of width, height, anchor, x, y, min_cols, min_rows, border",
		Help: "Geometries that a float may name. `floats.default` is that of a float which names none, or one that is not there. A change counts for what is drawn from then on.",
		at:   func(c *Config) any { return &c.Floats.Presets }},

	{Path: "access.unknown", Kind: Text, Default: UnknownRead, Enum: []string{UnknownNone, UnknownRead}, Live: true,
		Help: "What a process of yours may do of which nobody can show whether it is in a pane: nothing, or see everything. One that is in a pane sees everything in any case.",
		at:   func(c *Config) any { return &c.Access.Unknown }},
	{Path: "access.share_max_seconds", Kind: Int, Default: int64(86400), Min: 60, Max: 604800, Live: true,
		Help: "Longest life of a share link that is made from now on.", at: func(c *Config) any { return &c.Access.ShareMaxSeconds }},

	{Path: "recovery.enabled", Kind: Bool, Default: false, Live: true,
		Help: "Write checkpoints. Turning it off stops writing and deletes nothing.",
		at:   func(c *Config) any { return &c.Recovery.Enabled }},
	{Path: "recovery.interval_ms", Kind: Int, Default: int64(30000), Min: 1000, Max: 3600000, Live: true,
		Help: "Time between two checkpoints, in milliseconds.", at: func(c *Config) any { return &c.Recovery.IntervalMS }},
	{Path: "recovery.max_checkpoints", Kind: Int, Default: int64(3), Min: 1, Max: 100, Live: true,
		Help: "How many are kept. The oldest go first.", at: func(c *Config) any { return &c.Recovery.MaxCheckpoints }},
	{Path: "recovery.max_checkpoint_bytes", Kind: Int, Default: int64(16777216), Min: 65536, Max: 67108864, Live: true,
		Help: "Largest checkpoint file.", at: func(c *Config) any { return &c.Recovery.MaxCheckpointBytes }},
	{Path: "recovery.max_age_seconds", Kind: Int, Default: int64(604800), Min: 1, Max: 2592000, Live: true,
		Help: "Checkpoints older than this cannot be restored and are deleted.", at: func(c *Config) any { return &c.Recovery.MaxAgeSeconds }},
	{Path: "recovery.terminal_text", Kind: Text, Default: TextOff, Enum: []string{TextOff, TextPlain}, Live: true,
		Help: "Keep the text of terminals in checkpoints. Text can hold secrets that a program printed; private files and expiry limit who sees it and no more. Going back to \"off\" deletes every checkpoint with text.",
		at:   func(c *Config) any { return &c.Recovery.TerminalText }},
	{Path: "recovery.text_max_rows", Kind: Int, Default: int64(10000), Max: 100000, Live: true,
		Help: "Most rows of text of one pane, screen and history together. 0 keeps none.", at: func(c *Config) any { return &c.Recovery.TextMaxRows }},
	{Path: "recovery.text_max_bytes", Kind: Int, Default: int64(1048576), Max: 16777216, Live: true,
		Help: "Most bytes of text of one pane. 0 keeps none.", at: func(c *Config) any { return &c.Recovery.TextMaxBytes }},
	{Path: "recovery.text_max_age_seconds", Kind: Int, Default: int64(86400), Min: 1, Max: 2592000, Live: true,
		Help: "Text older than this is not restored. At most recovery.max_age_seconds.",
		at:   func(c *Config) any { return &c.Recovery.TextMaxAgeSeconds }},

	{Path: "shutdown.sessions", Kind: Text, Default: SessionsKeep, Enum: []string{SessionsKeep, SessionsTerminate}, Live: true,
		Help: "\"keep\": SIGTERM and SIGINT end spawnd alone, terminals go on. \"terminate\": they end every terminal too. server.shutdown does the same, unless it says which.",
		at:   func(c *Config) any { return &c.Shutdown.Sessions }},
}

// relations are the rules between keys: each names the key that is blamed when it does not hold.
var relations = []struct {
	holds  func(Config) bool
	blamed string
	other  string // blamed instead when the file names this one alone
	says   string
}{
	{func(c Config) bool { return c.Recovery.TextMaxAgeSeconds <= c.Recovery.MaxAgeSeconds },
		"recovery.text_max_age_seconds", "recovery.max_age_seconds", "recovery.text_max_age_seconds must be at most recovery.max_age_seconds"},
}

// Lookup finds a key by its path.
func Lookup(path string) (Key, bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Path == path })
	if i < 0 {
		return Key{}, false
	}
	return keys[i], true
}

func (k Key) section() string {
	section, _, _ := strings.Cut(k.Path, ".")
	return section
}

func (k Key) name() string {
	_, name, _ := strings.Cut(k.Path, ".")
	return name
}

// Value is the key's value in a configuration: bool, int64, string, []string or []Preset.
func (k Key) Value(c Config) any {
	switch at := k.at(&c).(type) {
	case *bool:
		return *at
	case *int64:
		return *at
	case *string:
		return *at
	case *[]string:
		return slices.Clone(*at)
	case *[]Preset:
		return slices.Clone(*at)
	}
	panic("config: internal error: " + k.Path + " has no type")
}

// assign puts a value of the key's own type in place. Nothing is checked.
func (k Key) assign(c *Config, value any) {
	switch at := k.at(c).(type) {
	case *bool:
		*at = value.(bool)
	case *int64:
		*at = value.(int64)
	case *string:
		*at = value.(string)
	case *[]string:
		*at = slices.Clone(value.([]string))
	case *[]Preset:
		*at = slices.Clone(value.([]Preset))
	}
}

// admits says what is wrong with a value of the key's type, without repeating it.
func (k Key) admits(value any) error {
	switch v := value.(type) {
	case int64:
		if (v < k.Min || v > k.Max) && !(k.OrZero && v == 0) {
			return errors.New("out of range: want " + k.Domain())
		}
	case string:
		if k.Enum != nil && !slices.Contains(k.Enum, v) {
			return errors.New("not a choice: want " + k.Domain())
		}
		if len(v) > textMax {
			return fmt.Errorf("too long: at most %d bytes", textMax)
		}
	case []string:
		if len(v) > wordsMax || slices.ContainsFunc(v, func(w string) bool { return len(w) > wordMax }) {
			return fmt.Errorf("too long: at most %d entries of %d bytes", wordsMax, wordMax)
		}
	}
	if k.check != nil {
		return k.check(value)
	}
	return nil
}

// Domain says which values there are, in a few words.
func (k Key) Domain() string {
	switch {
	case k.Kind == Bool:
		return "true or false"
	case k.Kind == Int && k.OrZero:
		return fmt.Sprintf("0, or %d to %d", k.Min, k.Max)
	case k.Kind == Int:
		return fmt.Sprintf("%d to %d", k.Min, k.Max)
	case k.Enum != nil:
		return `"` + strings.Join(k.Enum, `" or "`) + `"`
	}
	return k.Rule
}

func checkListen(value any) error {
	_, err := loopback.Parse(value.(string))
	if errors.Is(err, loopback.ErrElsewhere) {
		return err
	}
	if err != nil {
		return errors.New("not an address: want 127.0.0.1:PORT, [::1]:PORT or localhost:PORT")
	}
	return nil
}

func checkCommand(value any) error {
	words := value.([]string)
	if len(words) > 0 && !filepath.IsAbs(words[0]) {
		return errors.New("the program is not an absolute path")
	}
	for _, w := range words {
		if strings.ContainsFunc(w, unicode.IsControl) {
			return errors.New("a control character cannot be part of a command")
		}
	}
	return nil
}
