// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

//go:generate go test -count=1 -run ^TestManPagesAreFresh$ . -update

var update = flag.Bool("update", false, "write the man pages instead of comparing them")

// manFolder is where packages take the pages from. They are made in a test because their maker brings a
// Markdown parser along, which spawnd has no use for.
const manFolder = "../../docs/man"

func TestManPagesAreFresh(t *testing.T) {
	pages := map[string][]byte{}
	manPages(t, rootCommand(), pages)
	if *update {
		if err := os.MkdirAll(manFolder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(manFolder, name), page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(manFolder)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if want := slices.Sorted(maps.Keys(pages)); !slices.Equal(have, want) {
		t.Fatalf("docs/man holds %v, want %v", have, want)
	}
	for name, page := range pages {
		text, err := os.ReadFile(filepath.Join(manFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, page) {
			t.Errorf("docs/man/%s is stale: make gen", name)
		}
	}
}

func manPages(t *testing.T, cmd *cobra.Command, pages map[string][]byte) {
	cmd.DisableAutoGenTag = true
	cmd.InitDefaultHelpFlag()
	var page bytes.Buffer
	date := time.Unix(0, 0).UTC()
	header := &doc.GenManHeader{Section: "1", Source: "spawn", Manual: "spawn", Date: &date}
	if err := doc.GenMan(cmd, header, &page); err != nil {
		t.Fatal(err)
	}
	// Without a date: the page changes when the command does, and not from day to day.
	text := bytes.Replace(page.Bytes(), []byte(`"`+date.Format("Jan 2006")+`"`), []byte(`""`), 1)
	pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = text
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" {
			manPages(t, sub, pages)
		}
	}
}
