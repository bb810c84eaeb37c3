// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"spawn/internal/supervisor"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/version"
)

// unattended are the verbs that are done here when no spawnd listens, and what a person is told then.
var unattended = map[string]string{
	verbs.ConfigGet:    "no spawnd runs: this is what the next one would start with",
	verbs.ConfigSet:    "no spawnd runs: the next one will read it",
	verbs.ConfigCheck:  "",
	verbs.ConfigSchema: "",
	verbs.Doctor:       "no spawnd runs: what is about a running one, and about its terminals, was not looked at",
}

// attempt does a verb by the running spawnd, or without one where that makes sense.
func attempt(cmd *cobra.Command, v verbs.Verb, params map[string]any, result any, quiet bool) error {
	if v.Name == verbs.ServerShutdown {
		return shutdown(cmd.Context(), params, result)
	}
	err := call(cmd.Context(), v.Name, params, result)
	note, can := unattended[v.Name]
	if refused := (*verbs.Error)(nil); !can || !errors.As(err, &refused) || refused.Code != verbs.CodeNoDaemon {
		return err
	}
	worker, _ := workerPath() // that it is not there is what the doctor tells
	alone, err := supervisor.NewUnattended(supervisor.Options{Getenv: os.Getenv, WorkerPath: worker, Version: version.Version})
	if err != nil {
		return err
	}
	if err := v.Do(cmd.Context(), alone, params, result); err != nil {
		return err
	}
	if note != "" && !quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), "spawnd:", note)
	}
	return nil
}

// verdict is the exit code of a command that did what it should, and found that something is wrong. What,
// its result has told.
type verdict int

func (verdict) Error() string { return "something is not as it should be" }

// exitUnwell is the code of a doctor that found an error: the class of what is unavailable. Warnings leave 0.
const exitUnwell = 6

// judge turns a result into the exit code that scripts can go by.
func judge(result any) error {
	switch r := result.(type) {
	case *verbs.DoctorResult:
		if r.Status == "error" {
			return verdict(exitUnwell)
		}
	case *verbs.ConfigCheckResult:
		if !r.OK {
			return verdict(exitInvalid)
		}
	}
	return nil
}
