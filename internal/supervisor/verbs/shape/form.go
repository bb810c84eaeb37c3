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
	"window":  {regexp.MustCompile(`^w(0|[1-9][0-9]{0,9})$`), "a window's id, which looks like w0"},
	"session": {regexp.MustCompile(`^s(0|[1-9][0-9]{0,9})$`), "a session's id, which looks like s0"},
	"resource": {
		regexp.MustCompile(`^(server:root|(session:s|window:w|pane:p)(0|[1-9][0-9]{0,9}))$`),
		"server:root, or a resource such as session:s0, window:w0 or pane:p0",
	},
	"grant":  {regexp.MustCompile(`^g_[0-9a-f]{16}$`), "a grant's id, which looks like g_0123456789abcdef"},
	"share":  {regexp.MustCompile(`^l_[0-9a-f]{16}$`), "a link's id, which looks like l_0123456789abcdef"},
	"device": {regexp.MustCompile(`^d_[0-9a-f]{16}$`), "a browser's id, which looks like d_0123456789abcdef"},
	"checkpoint": {
		regexp.MustCompile(`^c[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
		"a checkpoint's id, which is c and a UUID of version 4",
	},
	"tag":     {regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,31}$`), "the key of a tag, which is of lower case letters, digits, _, . and -"},
	"extent":  {regexp.MustCompile(`^([1-9][0-9]{0,4}|([1-9][0-9]?|100)%)$`), "a number of cells, or a share such as 60%"},
	"viewer":  {regexp.MustCompile(`^[1-9][0-9]{0,19}$`), "a viewer's id, which is a number"},
	"abspath": {regexp.MustCompile(`^/[^\x00]*$`), "an absolute path"},
}
