// SPDX-License-Identifier: Apache-2.0

package config

// Config is every setting of spawnd, each with a value. The member names are the paths of keys.go, which
// holds defaults, limits and meaning; a test holds the two together.
type Config struct {
	Serve    Serve    `json:"serve"`
	Shell    Shell    `json:"shell"`
	Terminal Terminal `json:"terminal"`
	Viewers  Viewers  `json:"viewers"`
	Floats   Floats   `json:"floats"`
	Access   Access   `json:"access"`
	Recovery Recovery `json:"recovery"`
	Shutdown Shutdown `json:"shutdown"`
}

// Serve says where spawnd can be reached. It is read once, at start.
type Serve struct {
	Listen   string `json:"listen"`
	PeerPort int64  `json:"peer_port"`
}

// Shell says what a new terminal runs.
type Shell struct {
	Command     []string `json:"command"`
	Integration bool     `json:"integration"`
}

// Terminal is what a new terminal gets when nobody says otherwise. Limits of 0 are none, bounds of its log of 0 the worker's own.
type Terminal struct {
	Cols           int64 `json:"cols"`
	Rows           int64 `json:"rows"`
	MemoryMaxBytes int64 `json:"memory_max_bytes"`
	TasksMax       int64 `json:"tasks_max"`
	CPUWeight      int64 `json:"cpu_weight"`

	LogBytes        int64 `json:"log_bytes"`
	LogSegmentBytes int64 `json:"log_segment_bytes"`
}

// Viewers bounds who looks on.
type Viewers struct {
	Max int64 `json:"max"`
}

// Floats says how panes above the splits are drawn.
type Floats struct {
	Presets []Preset `json:"presets"`
}

// Values of Access.Unknown.
const (
	UnknownNone = "none"
	UnknownRead = "read"
)

// Access says what is granted without being asked for.
type Access struct {
	Unknown         string `json:"unknown"`
	ShareMaxSeconds int64  `json:"share_max_seconds"`
}

// Values of Recovery.TerminalText.
const (
	TextOff   = "off"
	TextPlain = "plain"
)

// Recovery says what is kept for the time after a reboot. Zero rows or bytes of text are none.
type Recovery struct {
	Enabled            bool   `json:"enabled"`
	IntervalMS         int64  `json:"interval_ms"`
	MaxCheckpoints     int64  `json:"max_checkpoints"`
	MaxCheckpointBytes int64  `json:"max_checkpoint_bytes"`
	MaxAgeSeconds      int64  `json:"max_age_seconds"`
	TerminalText       string `json:"terminal_text"`
	TextMaxRows        int64  `json:"text_max_rows"`
	TextMaxBytes       int64  `json:"text_max_bytes"`
	TextMaxAgeSeconds  int64  `json:"text_max_age_seconds"`
}

// Values of Shutdown.Sessions.
const (
	SessionsKeep      = "keep"
	SessionsTerminate = "terminate"
)

// Shutdown says what a signal to spawnd means for its terminals.
type Shutdown struct {
	Sessions string `json:"sessions"`
}

// Default is the configuration of an empty file, and of none.
func Default() Config {
	var c Config
	for _, k := range keys {
		k.assign(&c, k.Default)
	}
	return c
}
