// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
)

// Start is the payload of START: what to run on the terminal, and how.
type Start struct {
	Argv []string `json:"argv"` // at least the program; argv[0] as the program sees it is the worker's matter
	Cwd  string   `json:"cwd"`  // absolute path; "" leaves the choice to the worker
	Env  []string `json:"env"`  // NAME=value, the whole environment
	Cols uint16   `json:"cols"` // 1..SizeMax
	Rows uint16   `json:"rows"` // 1..SizeMax
}

// AppendStart appends START. Strings that are not UTF-8 are an error.
func AppendStart(dst []byte, s Start) ([]byte, error) { return appendStructured(dst, KindStart, s) }

// DecodeStart reads the payload of START.
func DecodeStart(payload []byte) (Start, error) { return decodeStructured[Start](KindStart, payload) }

func (s Start) check() error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return fmt.Errorf("%w: argv names no program", ErrPayload)
	}
	for _, a := range s.Argv {
		if err := checkNoNUL("argv", a); err != nil {
			return err
		}
	}
	if s.Cwd != "" && s.Cwd[0] != '/' {
		return fmt.Errorf("%w: cwd is not absolute", ErrPayload)
	}
	if err := checkNoNUL("cwd", s.Cwd); err != nil {
		return err
	}
	for _, e := range s.Env {
		if strings.IndexByte(e, '=') < 1 {
			return fmt.Errorf("%w: env entry without a name", ErrPayload)
		}
		if err := checkNoNUL("env", e); err != nil {
			return err
		}
	}
	return checkSize(s.Cols, s.Rows)
}
