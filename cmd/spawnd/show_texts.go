// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"spawn/internal/supervisor/verbs"
)

// What a terminal showed is written as it is: there is no control in it beside line feeds and, where styles were
// asked for, SGR. The worker's frames are held to that when they are read, and so is the output of a command.

// printCapture leaves out the blank rows at the end.
func printCapture(out io.Writer, r *verbs.PaneCaptureResult) error {
	text := strings.TrimRight(strings.Join(r.Lines, "\n"), "\n")
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

func printDocument(out io.Writer, r *verbs.PaneExportResult) error {
	_, err := io.WriteString(out, r.Data)
	return err
}

// printRun adds a line when the command did not succeed, which no output of it can hide.
func printRun(out io.Writer, r *verbs.PaneRunResult) error {
	text := r.Output
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	switch {
	case r.ExitCode == nil:
		text += "(exit code unknown)\n"
	case *r.ExitCode != 0:
		text += fmt.Sprintf("(exit code %d)\n", *r.ExitCode)
	}
	_, err := io.WriteString(out, text)
	return err
}
