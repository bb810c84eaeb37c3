// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/shape"
)

// shows are the results that people have a better form for than a list of members.
var shows = map[string]func(io.Writer, any) error{
	verbs.PaneList:     func(out io.Writer, r any) error { return printPanes(out, r.(*verbs.PaneListResult).Panes) },
	verbs.PaneNew:      func(out io.Writer, r any) error { return printLine(out, r.(*verbs.PaneResult).Pane.ID) },
	verbs.WindowList:   func(out io.Writer, r any) error { return printWindows(out, r.(*verbs.WindowListResult).Windows) },
	verbs.ConfigGet:    func(out io.Writer, r any) error { return printSettings(out, r.(*verbs.ConfigGetResult)) },
	verbs.ConfigSet:    func(out io.Writer, r any) error { return printWritten(out, r.(*verbs.ConfigSetResult)) },
	verbs.ConfigReload: func(out io.Writer, r any) error { return printReloaded(out, r.(*verbs.ConfigReloadResult)) },
	verbs.ConfigCheck:  func(out io.Writer, r any) error { return printProblems(out, r.(*verbs.ConfigCheckResult)) },
	verbs.ConfigSchema: func(out io.Writer, r any) error { return printSchema(out, r.(*verbs.ConfigSchemaResult)) },
	verbs.Doctor:       func(out io.Writer, r any) error { return printReport(out, r.(*verbs.DoctorResult)) },
	verbs.PairNew:      func(out io.Writer, r any) error { return printLine(out, r.(*verbs.PairNewResult).URL) },
	verbs.ShareCreate:  func(out io.Writer, r any) error { return printLine(out, r.(*verbs.ShareCreateResult).URL) },
	verbs.PaneRun:      func(out io.Writer, r any) error { return printRun(out, r.(*verbs.PaneRunResult)) },
	verbs.PaneCapture:  func(out io.Writer, r any) error { return printCapture(out, r.(*verbs.PaneCaptureResult)) },
	verbs.PaneExport:   func(out io.Writer, r any) error { return printDocument(out, r.(*verbs.PaneExportResult)) },
}

// show writes a result for people. Every text in it is escaped: a program may have chosen it.
func show(out io.Writer, v verbs.Verb, result any) error {
	if own, ok := shows[v.Name]; ok {
		return own(out, result)
	}
	src, err := strictjson.Marshal(result)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if err := showRecord(table, v.Result, src); err != nil {
		return err
	}
	return table.Flush()
}

// showRecord writes a line for each member, those of records among them, and then the lists of records.
func showRecord(out *tabwriter.Writer, s shape.Struct, src verbs.Raw) error {
	var members map[string]verbs.Raw
	if err := strictjson.Unmarshal(src, &members); err != nil {
		return err
	}
	var tables []shape.Member
	for _, m := range s.Members {
		v, there := members[m.Name]
		var err error
		switch {
		case !there:
		case m.Kind == shape.Record:
			err = showRecord(out, *m.Of, v)
		case m.Kind == shape.List && m.Elem == shape.Record:
			tables = append(tables, m)
		default:
			_, err = fmt.Fprintf(out, "%s\t%s\n", heading(m), cellOf(m, v))
		}
		if err != nil {
			return err
		}
	}
	for _, m := range tables {
		if err := errors.Join(out.Flush(), showTable(out, *m.Of, members[m.Name]), out.Flush()); err != nil {
			return err
		}
	}
	return nil
}

func showTable(out io.Writer, s shape.Struct, src verbs.Raw) error {
	var rows []map[string]verbs.Raw
	if err := strictjson.Unmarshal(src, &rows); err != nil {
		return err
	}
	var head []string
	for _, m := range s.Members {
		head = append(head, heading(m))
	}
	fmt.Fprintln(out, strings.Join(head, "\t"))
	for _, row := range rows {
		var cells []string
		for _, m := range s.Members {
			cells = append(cells, cellOf(m, row[m.Name]))
		}
		if _, err := fmt.Fprintln(out, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}

func heading(m shape.Member) string { return strings.ToUpper(strings.ReplaceAll(m.Name, "_", " ")) }

// cellOf is a member for a person: a moment is one of this place and its clock, and none a dash.
func cellOf(m shape.Member, v verbs.Raw) string {
	var ms int64
	if !isMoment(m) || strictjson.Unmarshal(v, &ms) != nil {
		return cell(v)
	}
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).Format(time.DateTime)
}

// isMoment reports whether a member is in Unix milliseconds, which its name tells in every verb.
func isMoment(m shape.Member) bool { return m.Kind == shape.Whole && strings.HasSuffix(m.Name, "_at") }

// cell is one value for a person: texts without quotation marks, lists with commas, nothing as a dash.
func cell(v verbs.Raw) string {
	var text string
	var list []string
	switch {
	case len(v) == 0 || string(v) == "null":
		return "-"
	case strictjson.Unmarshal(v, &text) == nil:
		return escaped(text)
	case strictjson.Unmarshal(v, &list) == nil && len(list) == 0:
		return "-"
	case strictjson.Unmarshal(v, &list) == nil:
		for i, t := range list {
			list[i] = escaped(t)
		}
		return strings.Join(list, ", ")
	}
	return escaped(string(v))
}

// escaped makes a text that a program chose harmless on this terminal: controls, bidi and zero-width
// characters and what is no UTF-8 are written as what they are.
func escaped(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func printLine(out io.Writer, text string) error {
	_, err := fmt.Fprintln(out, escaped(text))
	return err
}

func printJSON(out io.Writer, v any) error {
	text, err := encodeJSON(v)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", text)
	}
	return err
}

// encodeJSON is JSON that is harmless on a terminal too: what does not show is written as an escape, which
// means the same. Such characters are in texts alone.
func encodeJSON(v any) ([]byte, error) {
	text, err := strictjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case unicode.IsGraphic(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out, nil
}

func printPanes(out io.Writer, panes []verbs.Pane) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tSIZE\tPID\tRUNS\tNAME\tTITLE")
	for _, p := range panes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, stateText(p), sizeText(p), pidText(p.PID),
			escaped(p.Foreground), escaped(p.Name), escaped(p.Title))
	}
	return table.Flush()
}

// printWindows lists what is in each window. How its tree divides it is for programs to read.
func printWindows(out io.Writer, windows []verbs.Window) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "WINDOW\tSESSION\tPANES\tFLOATS\tACTIVE\tZOOMED\tNAME")
	for _, w := range windows {
		var tiles, floats []string
		for _, n := range w.Nodes {
			if n.Kind == "pane" {
				tiles = append(tiles, n.Pane)
			}
		}
		for _, f := range w.Floats {
			floats = append(floats, f.Pane)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", w.Window, w.Session, idsText(tiles), idsText(floats),
			cmp.Or(w.Active, "-"), cmp.Or(w.Zoomed, "-"), escaped(w.Name))
	}
	return table.Flush()
}

func idsText(ids []string) string { return cmp.Or(strings.Join(ids, ", "), "-") }

// stateText never makes an unknown end look like a success.
func stateText(p verbs.Pane) string {
	switch {
	case p.Recovery.Checkpoint != "":
		return fmt.Sprintf("record (%s)", recordedEnd(p))
	case p.ExitCode != nil:
		return fmt.Sprintf("%s (%d)", p.State, *p.ExitCode)
	case p.Signal != "":
		return fmt.Sprintf("%s (%s)", p.State, p.Signal)
	case p.State == verbs.PaneLost:
		return "lost (status unknown)"
	}
	return string(p.State)
}

// recordedEnd is what was seen of the end of an archive's process, as the page says it; never that it does not run any more.
func recordedEnd(p verbs.Pane) string {
	switch {
	case p.Recovery.ProcessState != "exited":
		return "interrupted, and may run still"
	case p.Signal != "":
		return "ended by signal " + p.Signal
	case p.ExitCode != nil:
		return fmt.Sprintf("exited with %d", *p.ExitCode)
	}
	return "ended, nobody knows how"
}

// sizeText is a dash for a terminal that had ended before this spawnd began: nobody knows how large it was.
func sizeText(p verbs.Pane) string {
	if p.Cols == 0 {
		return "-"
	}
	return fmt.Sprintf("%dx%d", p.Cols, p.Rows)
}

func pidText(pid int) string {
	if pid == 0 {
		return "-"
	}
	return strconv.Itoa(pid)
}
