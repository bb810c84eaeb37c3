// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"spawn/internal/supervisor"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/verbs"
)

// invalid and unavailable give an error of the command line its class.
func invalid(err error) error { return verbs.Errorf(verbs.CodeInvalidParams, "%s", err) }

func unavailable(err error) error { return verbs.Errorf(verbs.CodeNoDaemon, "%s", err) }

func noArgs(cmd *cobra.Command, args []string) error { return classed(cobra.NoArgs(cmd, args)) }

func oneID(cmd *cobra.Command, args []string) error { return classed(cobra.ExactArgs(1)(cmd, args)) }

func anID(cmd *cobra.Command, args []string) error {
	return classed(cobra.MaximumNArgs(1)(cmd, args))
}

func classed(err error) error {
	if err == nil {
		return nil
	}
	return invalid(err)
}

// exitInvalid is the code of settings that cannot be used: the class of invalid input. Trying again, as a
// service manager would, does not help.
const exitInvalid = 2

// exitRunning is the code of a second spawnd on the same folders: the class of conflicts.
const exitRunning = 5

// exitSignal plus its number is the code of a command that a signal ended, as shells have it.
const exitSignal = 128

// interrupted tells what became of a command that a signal ended, where nothing below has.
func interrupted(err error, sig os.Signal) error {
	if !errors.Is(err, context.Canceled) || errors.As(err, new(*verbs.Error)) {
		return err
	}
	return verbs.Errorf(verbs.CodeOutcome, "interrupted by %s: whether it was done is not known", sig)
}

func exitCode(err error) int {
	if found := verdict(0); errors.As(err, &found) {
		return int(found)
	}
	if errors.Is(err, supervisor.ErrRunning) {
		return exitRunning
	}
	if errors.As(err, new(config.Problems)) || errors.Is(err, config.ErrUnsafeFile) {
		return exitInvalid
	}
	return verbs.ExitCode(err)
}

// flagError says what is wrong with a flag without the words of the library that read its value.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f, want := invalid.GetFlag(), "a whole number"
	switch f.Value.Type() {
	case "bool":
		want = "true or false"
	case "uint16":
		want += " from 0 to 65535"
	}
	return fmt.Errorf("--%s is %s, not %q", f.Name, want, invalid.GetValue())
}

// asksJSON reports whether the command line asks for JSON. Where its flags could not be read to the end, it is looked for.
func asksJSON(cmd *cobra.Command, args []string) bool {
	asked := cmd.Flags().Lookup(jsonFlag)
	if asked == nil {
		return false
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return asked.Value.String() == "true" || !asked.Changed && slices.Contains(args, "--"+jsonFlag)
}

// tell writes an error: a line for people, or as JSON the object that goes over the socket.
func tell(out io.Writer, asJSON bool, err error) {
	if errors.As(err, new(verdict)) {
		return
	}
	if !asJSON {
		lines := strings.Split(err.Error(), "\n")
		for i, line := range lines {
			lines[i] = escaped(line) // it may name what somebody else chose
		}
		fmt.Fprintln(out, "spawnd:", strings.Join(lines, "\n"))
		return
	}
	_ = printJSON(out, errorObject(err)) // there is no other way left to say anything
}

// refusal is an error as scripts see it.
type refusal struct {
	Error *verbs.Error `json:"error"`
}

func errorObject(err error) refusal {
	var e *verbs.Error
	if !errors.As(err, &e) {
		e = verbs.Errorf(verbs.CodeInternal, "%s", err)
	}
	return refusal{e}
}
