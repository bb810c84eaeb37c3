// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
)

// as is the control socket for whoever holds the token.
func (h *host) as(token string) dial.Socket {
	s := h.socket()
	s.Token = token
	return s
}

// agent makes somebody who has the rights on the resource.
func (h *host) agent(resource string, rights ...string) verbs.GrantIssueResult {
	h.Helper()
	var r verbs.GrantIssueResult
	h.call(verbs.GrantIssue, verbs.GrantIssueParams{Scopes: []verbs.Scope{{Resource: resource, Rights: rights}}}, &r)
	return r
}

// ownerToken is what SPAWN_TOKEN=@owner stands for now.
func (h *host) ownerToken() string {
	h.Helper()
	text, err := os.ReadFile(h.dir + "/r/spawn/owner.token")
	h.must(err)
	return strings.TrimSpace(string(text))
}

// refusal is what the verb answers when it fails, whole.
func refusal(s dial.Socket, verb string, params, result any) *verbs.Error {
	e := (*verbs.Error)(nil)
	if errors.As(s.Call(context.Background(), verb, params, result), &e) {
		return e
	}
	return &verbs.Error{}
}

func (h *host) grants() []verbs.Grant {
	h.Helper()
	var r verbs.GrantListResult
	h.call(verbs.GrantList, verbs.Empty{}, &r)
	return r.Grants
}

// script runs the commands in a row, one a line, and then writes their exit codes into the file of that name.
func (h *host) script(file string, commands ...string) string {
	spawnd := filepath.Join(binaries, "spawnd")
	var out strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&out, "%s %s >>%s/said 2>&1; codes=\"$codes $?\"\n", spawnd, c, h.dir)
	}
	fmt.Fprintf(&out, "echo $codes >%s/%s.new; mv %[1]s/%[2]s.new %[1]s/%[2]s\n", h.dir, file)
	return out.String()
}

// codes are the exit codes that a script wrote.
func (h *host) codes(file string) string {
	h.Helper()
	var text []byte
	h.await(file+" is written", func() (there bool) {
		var err error
		text, err = os.ReadFile(filepath.Join(h.dir, file))
		return err == nil
	})
	return strings.TrimSpace(string(text))
}
