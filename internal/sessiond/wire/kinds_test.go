// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

func TestKindsTableIsConsistent(t *testing.T) {
	names := map[string]bool{}
	capabilities := map[string]bool{"": true}
	for _, c := range Capabilities() {
		capabilities[c] = true
	}
	last := Kind(0)
	for _, s := range Kinds() {
		if s.Kind <= last {
			t.Errorf("%s: values do not rise", s.Name)
		}
		last = s.Kind
		if names[s.Name] || s.Name != s.Kind.String() {
			t.Errorf("name %q is used twice or not shown", s.Name)
		}
		names[s.Name] = true
		if toWorker := s.Kind < 0x80; toWorker != (s.Dir == ToWorker) || s.Dir != ToWorker && s.Dir != FromWorker {
			t.Errorf("%s: value 0x%02x and direction %v disagree", s.Name, uint8(s.Kind), s.Dir)
		}
		if s.Max > MaxFrameLen || s.Min > s.Max || s.Exact && s.Min != s.Max {
			t.Errorf("%s: sizes %d..%d, exact %t", s.Name, s.Min, s.Max, s.Exact)
		}
		if !capabilities[s.Since] {
			t.Errorf("%s: capability %q is not one of ours", s.Name, s.Since)
		}
		if found, ok := Lookup(s.Kind); !ok || found != s {
			t.Errorf("%s: lookup gives %+v", s.Name, found)
		}
	}
	if _, ok := Lookup(0); ok {
		t.Error("0 is a kind")
	}
}

func TestKindsReturnsACopy(t *testing.T) {
	Kinds()[0].Max = 0
	if Kinds()[0].Max == 0 {
		t.Error("a caller can change the table")
	}
}

// row is one line of the table of kinds in docs/protocol.md.
var row = regexp.MustCompile("(?m)^\\| `0x([0-9a-f]{2})` \\| ([A-Z_]+) \\| ([a-z ]+) \\| ([0-9]+) \\| ([0-9]+) \\| (yes|no) \\| ([a-z]+) \\|")

func TestProtocolDocumentHasTheTableOfKinds(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, fmt.Sprint(m[1:]))
	}
	specs := Kinds()
	if len(documented) != len(specs) {
		t.Fatalf("%d kinds documented, %d exist", len(documented), len(specs))
	}
	for i, s := range specs {
		exact, since := "no", s.Since
		if s.Exact {
			exact = "yes"
		}
		if since == "" {
			since = "base"
		}
		want := fmt.Sprint([]string{fmt.Sprintf("%02x", uint8(s.Kind)), s.Name, s.Dir.String(),
			strconv.Itoa(int(s.Min)), strconv.Itoa(int(s.Max)), exact, since})
		if documented[i] != want {
			t.Errorf("documented %s, want %s", documented[i], want)
		}
	}
}
