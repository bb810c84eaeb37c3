// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/shape"
)

// input gathers a verb's parameters from the command line. It decides nothing about them: the verb's own
// rules do, here before spawnd is asked, and there again.
type input struct {
	cmd    *cobra.Command
	verb   string
	values map[string]func() (any, error) // by the member's name, of its flag
	flags  map[string]string              // the flag's name by the member's
	rest   *shape.Member                  // what follows --; nil when nothing may
}

func (in *input) declare(cmd *cobra.Command, v verbs.Verb) {
	in.cmd, in.verb, in.values, in.flags = cmd, v.Name, map[string]func() (any, error){}, map[string]string{}
	for _, m := range v.Params.Members {
		in.declareMember(m)
	}
}

func (in *input) declareMember(m shape.Member) {
	name, flags := verbs.FlagName(m), in.cmd.Flags()
	in.flags[m.Name] = name
	switch {
	case m.Rest:
		in.rest = &m
		text := flags.String(name, "", m.Help+"; a JSON array, in place of what follows --")
		in.values[m.Name] = func() (any, error) {
			var words []string
			if strictjson.Unmarshal([]byte(*text), &words) != nil {
				return nil, verbs.Errorf(verbs.CodeInvalidParams, "--%s is a JSON array of texts", name).With("param", m.Name)
			}
			return words, nil
		}
	case m.Kind == shape.Text || m.Kind == shape.Decimal:
		value := flags.String(name, "", usage(m))
		in.values[m.Name] = func() (any, error) {
			if !utf8.ValidString(*value) {
				return nil, verbs.Errorf(verbs.CodeInvalidParams, "--%s is not UTF-8", name).With("param", m.Name)
			}
			return *value, nil
		}
	case m.Kind == shape.Whole:
		value := flags.Int64(name, 0, usage(m))
		in.values[m.Name] = func() (any, error) { return *value, nil }
	case m.Kind == shape.Flag:
		value := flags.Bool(name, false, usage(m))
		in.values[m.Name] = func() (any, error) { return *value, nil }
	case m.Kind == shape.List && m.Elem == shape.Text:
		value := flags.StringArray(name, nil, usage(m)+"; once for each")
		in.values[m.Name] = func() (any, error) { return *value, nil }
	case m.Kind == shape.Record || m.Kind == shape.List && m.Elem == shape.Record:
		value := flags.String(name, "", usage(m)+"; as JSON: "+pattern(m))
		in.values[m.Name] = func() (any, error) {
			var raw verbs.Raw
			if strictjson.Unmarshal([]byte(*value), &raw) != nil {
				return nil, verbs.Errorf(verbs.CodeInvalidParams, "--%s is not JSON, or not as it is written here: with each member once", name).With("param", m.Name)
			}
			return raw, nil
		}
	default:
		panic(fmt.Sprintf("spawnd: internal error: no flag can be %s", m.Name))
	}
	complete(in.cmd, name, in.verb, m)
}

// pattern is how a record is written, or a list of them.
func pattern(m shape.Member) string {
	var members []string
	for _, of := range m.Of.Members {
		members = append(members, strconv.Quote(of.Name)+":…")
	}
	object := "{" + strings.Join(members, ",") + "}"
	if m.Kind == shape.List {
		return "[" + object + ",…]"
	}
	return object
}

// usage is the help of a flag, with what the member may be.
func usage(m shape.Member) string {
	text := m.Help
	if limits := m.Limits(); limits != "" && m.Form == "" {
		text += " (" + limits + ")"
	}
	if !m.Optional {
		text += "; required"
	}
	return text
}

// params are the members that were given, as strictjson writes them.
func (in *input) params(args []string) (map[string]any, error) {
	given := map[string]any{}
	for member, value := range in.values {
		if !in.cmd.Flags().Changed(in.flags[member]) {
			continue
		}
		v, err := value()
		if err != nil {
			return nil, err
		}
		given[member] = v
	}
	if len(args) > 0 {
		if _, twice := given[in.rest.Name]; twice {
			return nil, verbs.Errorf(verbs.CodeInvalidParams, "--%s and what follows -- are one too many", in.flags[in.rest.Name]).With("param", in.rest.Name)
		}
		given[in.rest.Name] = args
	}
	return given, nil
}

// restArgs takes words after -- alone, so that a mistyped flag's value never becomes a command.
func restArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return invalid(fmt.Errorf("a command stands after --"))
	}
	return nil
}
