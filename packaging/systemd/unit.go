// SPDX-License-Identifier: Apache-2.0

// Package systemd is the unit by which systemd runs spawnd for a user.
package systemd

import (
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// UnitName is the file's name in a folder of units, and the unit's.
const UnitName = "spawnd.service"

//go:embed spawnd.service
var unit string

// packaged is where a distribution's package puts the program.
const packaged = "/usr/bin/spawnd"

// ErrPath means that a path cannot be written into a unit.
var ErrPath = errors.New("path cannot stand in a unit")

// Unit is the unit for a spawnd at that absolute path.
func Unit(spawnd string) (string, error) {
	word, err := quote(spawnd)
	if err != nil {
		return "", fmt.Errorf("write unit for %q: %w", spawnd, err)
	}
	return strings.Replace(unit, "ExecStart="+packaged+" ", "ExecStart="+word+" ", 1), nil
}

// quote writes a path as the first word of a command line: systemd expands specifiers there, so a percent
// sign is doubled. It takes no variables there, in a way that differs between versions, and newer ones warn
// of quotes, so only a path with a space gets them.
func quote(path string) (string, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", fmt.Errorf("not an absolute path in its shortest form: %w", ErrPath)
	}
	if !utf8.ValidString(path) || strings.ContainsAny(path, `$"'\`) || strings.ContainsFunc(path, unicode.IsControl) {
		return "", fmt.Errorf("it holds a quote, a backslash, a dollar sign or a character that does not show: %w", ErrPath)
	}
	path = strings.ReplaceAll(path, "%", "%%")
	if strings.ContainsFunc(path, unicode.IsSpace) {
		path = `"` + path + `"`
	}
	return path, nil
}
