// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSetChangesOneKeyAndNothingElse(t *testing.T) {
	cases := []struct{ name, src, path, value, want string }{
		{"no file", "", "recovery.enabled", "true",
			"// Settings of spawnd. \"spawnd config schema\" and docs/config.md list every key.\n{\n\t\"recovery\": {\n\t\t\"enabled\": true\n\t}\n}\n"},
		{"replace", "{\n  // why\n  \"recovery\": { \"enabled\": false /* off */, } // end\n}\n", "recovery.enabled", "true",
			"{\n  // why\n  \"recovery\": { \"enabled\": true /* off */, } // end\n}\n"},
		{"add to a section", "{\n  \"recovery\": {\n    \"enabled\": true // on\n  }\n}\n", "recovery.max_checkpoints", "5",
			"{\n  \"recovery\": {\n    \"enabled\": true, // on\n    \"max_checkpoints\": 5\n  }\n}\n"},
		{"keep the trailing comma", "{\n  \"recovery\": {\n    \"enabled\": true, // on\n  },\n}\n", "recovery.max_checkpoints", "5",
			"{\n  \"recovery\": {\n    \"enabled\": true, // on\n    \"max_checkpoints\": 5,\n  },\n}\n"},
		{"add a section", "{\n\t\"shell\": {}, // mine\n}\n", "shutdown.sessions", "terminate",
			"{\n\t\"shell\": {}, // mine\n\t\"shutdown\": {\n\t\t\"sessions\": \"terminate\"\n\t},\n}\n"},
		{"as the file is indented", "{\n  // ours\n  \"serve\": {},\n}\n", "shell.integration", "false",
			"{\n  // ours\n  \"serve\": {},\n  \"shell\": {\n    \"integration\": false\n  },\n}\n"},
		{"a text in quotes", "{}", "serve.listen", `"[::1]:1"`, "{\n\t\"serve\": {\n\t\t\"listen\": \"[::1]:1\"\n\t}\n}\n"},
		{"a list", "{}", "shell.command", `[ "/bin/sh", /* login */ "-l", ]`, ""},
		{"an escaped name", "{\"recovery\": {\"\\u0065nabled\": false}}", "recovery.enabled", "true", "{\"recovery\": {\"\\u0065nabled\": true}}\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Edit([]byte(c.src), c.path, c.value)
			if c.want == "" {
				if err == nil {
					t.Fatalf("accepted: %s", got)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Fatalf("Edit = %v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for name, c := range map[string]struct{ src, path, value, want string }{
		"another key":         {"{}", "recovery.speed", "1", ErrUnknownKey.Error()},
		"a section":           {"{}", "recovery", "{}", ErrUnknownKey.Error()},
		"out of range":        {"{}", "recovery.interval_ms", "1", "recovery.interval_ms: out of range"},
		"two values":          {"{}", "recovery.interval_ms", "1000 2000", "wrong type"},
		"a value and a key":   {"{}", "recovery.interval_ms", `1000, "enabled": true`, "wrong type"},
		"a broken relation":   {"{}", "recovery.max_age_seconds", "60", "recovery.max_age_seconds: recovery.text_max_age_seconds must be at most"},
		"a file with a fault": {`{"x": 1}`, "recovery.enabled", "true", "x: unknown"},
		"not UTF-8":           {"{}", "serve.listen", "\xff", "not a value"},
		"deep":                {"{}", "shell.command", strings.Repeat("[", 1000), "wrong type"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := Edit([]byte(c.src), c.path, c.value); err == nil || !strings.Contains(err.Error(), c.want) || out != nil {
				t.Fatalf("Edit = %q, %v", out, err)
			}
		})
	}
}

// For any file with comments in every gap, any sequence of sets keeps each comment, in order, and the file
// says what was set.
func TestSetKeepsEveryComment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, comments := commented(t)
		want, err := Parse([]byte(src))
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		out := []byte(src)
		for range rapid.IntRange(1, 6).Draw(t, "sets") {
			k := rapid.SampledFrom(editable()).Draw(t, "key")
			value := rapid.Int64Range(k.Min, k.Max).Draw(t, "value")
			if out, err = Edit(out, k.Path, fmt.Sprint(value)); err != nil {
				t.Fatalf("set %s: %v\n%s", k.Path, err, out)
			}
			k.assign(&want, value)
		}
		if got, err := Parse(out); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v\nwant %+v\n%s", got, err, want, out)
		}
		rest := string(out)
		for _, c := range comments {
			_, after, found := strings.Cut(rest, c)
			if !found {
				t.Fatalf("%s is gone, or moved, from\n%s\nto\n%s", c, src, out)
			}
			rest = after
		}
	})
}

// editable are keys of which every value goes with every other.
func editable() []Key {
	var out []Key
	for _, k := range Keys() {
		if k.Kind == Int && !strings.Contains(k.Path, "age_seconds") {
			out = append(out, k)
		}
	}
	return out
}

// commented draws a file with a comment in every gap.
func commented(t *rapid.T) (string, []string) {
	var comments []string
	gap := func() string {
		c := fmt.Sprintf("/* %d */", len(comments))
		end := ""
		if rapid.Bool().Draw(t, "line") {
			c, end = fmt.Sprintf("// %d.", len(comments)), "\n"
		}
		comments = append(comments, c)
		return rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "before") + c + end
	}
	comma := func(last bool) string {
		if last && rapid.Bool().Draw(t, "bare") {
			return ""
		}
		return gap() + ","
	}
	out := gap() + "{"
	for _, s := range sections {
		if !rapid.Bool().Draw(t, s.Name) {
			continue
		}
		out += gap() + fmt.Sprintf("%q", s.Name) + gap() + ":" + gap() + "{"
		for i, k := range keys {
			if k.section() == s.Name && rapid.Bool().Draw(t, k.Path) {
				last := i+1 == len(keys) || keys[i+1].section() != s.Name
				out += gap() + fmt.Sprintf("%q", k.name()) + gap() + ":" + gap() + k.defaultText()
				if last {
					out += comma(true)
				} else {
					out += comma(false)
				}
			}
		}
		out += gap() + "}" + comma(false)
	}
	return out + gap() + "}" + gap(), comments
}
