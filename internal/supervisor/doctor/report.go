// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"spawn/internal/strictjson"
)

// JSON is the report for programs.
func (r Report) JSON() ([]byte, error) { return strictjson.Marshal(r) }

// Text is the report for people: a line for each check, and below it what to do, where there is something.
func (r Report) Text() string {
	var out strings.Builder
	counts := map[Status]int{}
	for _, one := range r.Results {
		counts[one.Status]++
		fmt.Fprintf(&out, "%-5s  %-18s  %s\n", one.Status, one.Name, escaped(one.Message))
		if one.Remedy != "" {
			fmt.Fprintf(&out, "       why: %s\n       do:  %s\n", escaped(one.Why), escaped(one.Remedy))
		}
	}
	noun := "checks"
	if len(r.Results) == 1 {
		noun = "check"
	}
	fmt.Fprintf(&out, "\n%d %s:", len(r.Results), noun)
	for i, s := range severity {
		if i > 0 {
			out.WriteString(",")
		}
		fmt.Fprintf(&out, " %d %s", counts[s], s)
	}
	out.WriteString("\n")
	return out.String()
}

// escaped makes a path or a system's message harmless on a terminal.
func escaped(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
