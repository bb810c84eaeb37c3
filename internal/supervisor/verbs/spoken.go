// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"fmt"
	"regexp"
	"strings"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs/shape"
)

// Command returns the words of the verb on the command line, such as pane and new.
func (v Verb) Command() []string {
	return strings.Split(strings.ReplaceAll(v.Name, "_", "-"), ".")
}

// FlagName is how a member of parameters is spelt as a flag.
func FlagName(m shape.Member) string { return strings.ReplaceAll(m.Name, "_", "-") }

// ExampleLine is the example as a command, for a shell.
func (v Verb) ExampleLine() string {
	line := "spawnd " + strings.Join(v.Command(), " ")
	given := v.exampleMembers()
	rest := ""
	for _, m := range v.Params.Members {
		src, ok := given[m.Name]
		switch {
		case !ok:
		case m.Rest:
			rest = words(src)
		case m.Kind == shape.Flag:
			line += " --" + FlagName(m)
		case m.Kind == shape.List && m.Elem == shape.Text:
			var each []string
			if strictjson.Unmarshal(src, &each) != nil {
				panic("verbs: internal error: an example's list is none")
			}
			for _, one := range each {
				line += " --" + FlagName(m) + " " + quoted(one)
			}
		default:
			line += " --" + FlagName(m) + " " + quoted(plain(src))
		}
	}
	return line + rest
}

// ExampleRequest is the example as the line that goes over the socket.
func (v Verb) ExampleRequest() string {
	line, err := EncodeRequest(1, v.Name, v.Example, "")
	if err != nil {
		panic(fmt.Sprintf("verbs: internal error: %v", err))
	}
	return strings.TrimSuffix(string(line), "\n")
}

func (v Verb) exampleMembers() map[string]Raw {
	src, err := strictjson.Marshal(v.Example)
	var members map[string]Raw
	if err == nil {
		err = strictjson.Unmarshal(src, &members)
	}
	if err != nil {
		panic(fmt.Sprintf("verbs: internal error: example of %s: %v", v.Name, err))
	}
	return members
}

// words is a list of texts as what follows -- on a command line.
func words(src Raw) string {
	var list []string
	if err := strictjson.Unmarshal(src, &list); err != nil {
		panic(fmt.Sprintf("verbs: internal error: %v", err))
	}
	out := " --"
	for _, w := range list {
		out += " " + quoted(w)
	}
	return out
}

// plain is a text without its quotation marks, and any other value as JSON.
func plain(src Raw) string {
	var text string
	if strictjson.Unmarshal(src, &text) != nil {
		return string(src)
	}
	return text
}

var harmless = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// quoted makes one word of a text for a POSIX shell.
func quoted(text string) string {
	if harmless.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Needs says which rights the verb needs, for people.
func (v Verb) Needs() string {
	if v.Own {
		return "the rights that it gives away or takes"
	}
	if v.Each {
		return fmt.Sprintf("`%s` on each element; the others are left out", v.Right)
	}
	text := fmt.Sprintf("`%s`", v.Right)
	for _, a := range v.Also {
		text += fmt.Sprintf(" and `%s`", a.Right)
		if a.When != "" {
			text += " (" + a.When + ")"
		}
	}
	text = fmt.Sprintf("%s on `%s`", text, v.On)
	if v.Types {
		text += "; that of a share link will do"
	}
	return text
}
