// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// peer is another program that keeps terminals, and how it is told to.
type peer struct {
	name string
	// keep starts the command on a terminal that outlives whoever looks at it. Nil when attach does.
	keep func(sock string, argv []string) []string
	// attach shows that terminal in its own.
	attach func(sock string, argv []string) []string
}

// peerHistory is more lines than 8 MiB of log hold.
const peerHistory = "200000"

var peers = []peer{
	{
		name: "dtach",
		keep: func(sock string, argv []string) []string {
			return append([]string{"dtach", "-n", sock, "-E", "-r", "none", "-z"}, argv...)
		},
		attach: func(sock string, _ []string) []string { return []string{"dtach", "-a", sock, "-E", "-r", "none", "-z"} },
	},
	{
		name: "tmux",
		keep: func(sock string, argv []string) []string {
			return append([]string{"tmux", "-S", sock, "-f", "/dev/null", "start-server", ";", "set", "-g", "status", "off", ";",
				"set", "-g", "history-limit", peerHistory, ";", "new-session", "-d", "-x", "80", "-y", "24"}, argv...)
		},
		attach: func(sock string, _ []string) []string { return []string{"tmux", "-S", sock, "attach"} },
	},
	{
		name: "screen",
		keep: func(sock string, argv []string) []string {
			return append([]string{"screen", "-c", "/dev/null", "-h", peerHistory, "-S", filepath.Base(sock), "-dm"}, argv...)
		},
		attach: func(sock string, _ []string) []string {
			return []string{"screen", "-c", "/dev/null", "-r", filepath.Base(sock)}
		},
	},
	{
		name: "script", // keeps nothing: it only passes a terminal on, and writes it down
		attach: func(_ string, argv []string) []string {
			return []string{"script", "-q", "-c", strings.Join(argv, " "), "/dev/null"}
		},
	},
}

// open starts a command with the peer and returns the terminal that shows it, and the command to show it again.
func (p peer) open(ctx context.Context, l *lab, name string, argv []string) (*terminal, []string, error) {
	sock := filepath.Join(l.run, p.name+"-"+name)
	if p.keep != nil {
		keep := p.keep(sock, argv)
		cmd := exec.CommandContext(ctx, keep[0], keep[1:]...)
		cmd.Env, cmd.Dir = l.env, l.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("start %s: %w: %s", p.name, err, out)
		}
	}
	again := p.attach(sock, argv)
	t, err := openTerminal(ctx, l, again...)
	return t, again, err
}

// installed says whether the peer is there.
func (p peer) installed() bool {
	_, err := exec.LookPath(p.name)
	return err == nil
}
