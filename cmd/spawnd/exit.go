// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

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

// tell writes an error: a line for people, or for who asked for JSON an object as it goes over the socket.
func tell(out io.Writer, cmd *cobra.Command, err error) {
	if errors.As(err, new(verdict)) {
		return
	}
	if asked := cmd.Flags().Lookup(jsonFlag); asked == nil || asked.Value.String() != "true" {
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
