// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strings"
)

// What the verbs config.* take and return. Each answer is plain data, ready to be shown.

// Entry is one key and its value.
type Entry struct {
	Path    string `json:"path"`
	Value   any    `json:"value"`   // in force: boolean, integer, string or list of strings
	Default any    `json:"default"` // of the same type
	Live    bool   `json:"live"`    // takes effect at a reload; else at the next start
}

// GetParams asks for a key, a section, or, with "", everything.
type GetParams struct {
	Path string `json:"path"`
}

// GetResult lists keys in the order of the documents.
type GetResult struct {
	Entries []Entry `json:"entries"`
}

// Get reads from a configuration. The error is ErrUnknownKey.
func Get(c Config, p GetParams) (GetResult, error) {
	var out GetResult
	for _, k := range keys {
		if p.Path == "" || p.Path == k.Path || p.Path == k.section() {
			out.Entries = append(out.Entries, Entry{Path: k.Path, Value: k.Value(c), Default: k.Default, Live: k.Live})
		}
	}
	if len(out.Entries) == 0 {
		return GetResult{}, fmt.Errorf("get %s: %w", shown(p.Path), ErrUnknownKey)
	}
	return out, nil
}

// Get reads what is in force.
func (l *Live) Get(p GetParams) (GetResult, error) { return Get(l.Effective(), p) }

// SetParams sets one key in the file. Value is JSON, or, for a text, the text itself.
type SetParams struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// SetResult says when the value counts: it was written, and no more.
type SetResult struct {
	File string `json:"file"`
	Live bool   `json:"live"` // a reload will put it in force; else the next start will
}

// Set writes to the file and changes nothing that is in force. Errors: ErrUnknownKey, Problems,
// ErrUnsafeFile, ErrChanged, ErrUncertain.
func (l *Live) Set(p SetParams) (SetResult, error) { return l.file.Set(p) }

// CheckResult says whether the file could be put in force, as far as the file itself tells.
type CheckResult struct {
	File     string   `json:"file"`
	OK       bool     `json:"ok"`
	Problems Problems `json:"problems"`
}

// Check reads the file and has no effect. An unsafe or unreadable file is an error; faults in it are not.
func (f *File) Check() (CheckResult, error) {
	_, err := f.Load()
	var problems Problems
	if err != nil && !errors.As(err, &problems) {
		return CheckResult{}, err
	}
	return CheckResult{File: f.path, OK: err == nil, Problems: problems}, nil
}

// Check reads the file and has no effect.
func (l *Live) Check() (CheckResult, error) { return l.file.Check() }

// SchemaResult holds a JSON Schema as JSON text.
type SchemaResult struct {
	Schema string `json:"schema"`
}

// SchemaNow is Schema in the words of the verb.
func SchemaNow() SchemaResult {
	return SchemaResult{Schema: strings.TrimSuffix(string(Schema()), "\n")}
}
