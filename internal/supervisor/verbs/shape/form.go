// SPDX-License-Identifier: Apache-2.0

package shape

import "regexp"

// forms are the texts that have one form, by the name that the tag like uses. A pattern is written so that
// Go and JSON Schema (ECMA-262) read it alike.
var forms = map[string]struct {
	pattern *regexp.Regexp
	says    string
}{
	"pane":    {regexp.MustCompile(`^p(0|[1-9][0-9]{0,9})$`), "a pane's id, which looks like p0"},
	"viewer":  {regexp.MustCompile(`^[1-9][0-9]{0,19}$`), "a viewer's id, which is a number"},
	"abspath": {regexp.MustCompile(`^/[^\x00]*$`), "an absolute path"},
}
