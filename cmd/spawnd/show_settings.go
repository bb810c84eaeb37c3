// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/verbs"
)

func printSettings(out io.Writer, r *verbs.ConfigGetResult) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tVALUE\tDEFAULT\tCHANGES COUNT")
	for _, s := range r.Entries {
		when := "from the next start"
		if s.Live {
			when = "at once"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", escaped(s.Path), escaped(string(s.Value)), escaped(string(s.Default)), when)
	}
	return table.Flush()
}

func printWritten(out io.Writer, r *verbs.ConfigSetResult) error {
	when := "it counts from the next start of spawnd"
	if r.Live {
		when = "a running spawnd puts it in force within three seconds, or at once with: spawnd config reload"
	}
	_, err := fmt.Fprintf(out, "wrote %s; %s\n", escaped(r.File), when)
	return err
}

func printReloaded(out io.Writer, r *verbs.ConfigReloadResult) error {
	if len(r.Changed)+len(r.Waiting) == 0 {
		return printLine(out, "the settings in force are those of the file")
	}
	for _, part := range []struct {
		says string
		keys []string
	}{{"in force now", r.Changed}, {"in force from the next start of spawnd", r.Waiting}} {
		if len(part.keys) == 0 {
			continue
		}
		if err := printLine(out, part.says+": "+strings.Join(part.keys, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// printProblems writes one line for each, as compilers do, so that editors can go there.
func printProblems(out io.Writer, r *verbs.ConfigCheckResult) error {
	if r.OK {
		_, err := fmt.Fprintf(out, "%s is fine\n", escaped(r.File))
		return err
	}
	for _, p := range r.Problems {
		at := ""
		if p.Line > 0 {
			at = fmt.Sprintf("%d:%d:", p.Line, p.Column)
		}
		key := ""
		if p.Path != "" {
			key = escaped(p.Path) + ": "
		}
		if _, err := fmt.Fprintf(out, "%s:%s %s%s\n", escaped(r.File), at, key, escaped(p.Message)); err != nil {
			return err
		}
	}
	return nil
}

// printSchema writes the schema and nothing else, since it goes into a file; in lines, since people look at it first.
func printSchema(out io.Writer, r *verbs.ConfigSchemaResult) error {
	text, err := encodeJSON(r.Schema)
	if err == nil {
		text, err = strictjson.Indent(text)
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", text)
	}
	return err
}

func printReport(out io.Writer, r *verbs.DoctorResult) error {
	report := doctor.Report{Version: r.Version, Status: doctor.Status(r.Status)}
	for _, f := range r.Results {
		report.Results = append(report.Results, doctor.Result{
			Name: f.Name, Status: doctor.Status(f.Status), Message: f.Message, Why: f.Why, Remedy: f.Remedy, TookMS: f.TookMS,
		})
	}
	_, err := io.WriteString(out, report.Text())
	return err
}
