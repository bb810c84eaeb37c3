// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recovery

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"spawn/internal/supervisor/verbs"
)

// idOfSomebody is what the ids of grants, links and devices look like, and the principal of a pane.
var idOfSomebody = regexp.MustCompile(`\b[a-z]_[0-9a-f]{16}\b|\b(agent|pane|share|device):`)

// Agents, links and programs in panes make and share everything that can be made and shared, before and after a restore. Of what they
// are called and of what they come in with nothing reaches the store.
func TestTheStoreOfABusyDaemonNamesNobody(t *testing.T) {
	h := newHost(t, withText)
	h.serve()
	secrets := []string{h.ownerToken()}
	secrets = append(secrets, h.busy()...)
	id := h.checkpoint()
	h.stored(secrets)
	if owner := ownerOf(h.pane("p1").Tags); !strings.HasPrefix(owner, "agent:") {
		t.Errorf("p1 is %q's, and is to be an agent's", owner)
	}
	var kinds []string
	for _, p := range h.decode(id).Panes {
		for _, tag := range p.Tags {
			kinds = append(kinds, tag.Value)
		}
	}
	if slices.Sort(kinds); !slices.Equal(slices.Compact(kinds), []string{"agent", "owner", "pane"}) {
		t.Errorf("saved owners are %v", kinds)
	}
	h.reboot()
	h.serve()
	h.restore(id)
	secrets = append(secrets, h.ownerToken())
	secrets = append(secrets, h.busy()...)
	agent := h.agent("server:root", "read", "write", "spawn")
	h.must(h.as(agent.Token).Call(context.Background(), verbs.PaneRelaunch, verbs.PaneRelaunchParams{Pane: "p0", Argv: []string{"sleep", "1000"}, AckOrphans: true}, &verbs.PaneRelaunchResult{}))
	h.checkpoint()
	h.must(h.stop())
	h.stored(append(secrets, agent.Token, agent.Grant, agent.Principal))
}

// ownerOf is the value of the tag owner.
func ownerOf(tags []verbs.Tag) string {
	if i := slices.IndexFunc(tags, func(tag verbs.Tag) bool { return tag.Key == "owner" }); i >= 0 {
		return tags[i].Value
	}
	return ""
}

// busy makes panes as each kind of principal that can, grants and links, and returns what none may find again.
func (h *host) busy() (secrets []string) {
	h.Helper()
	first := h.start("sleep", "1000")
	var grant verbs.GrantIssueResult
	h.call(verbs.GrantIssue, verbs.GrantIssueParams{Label: "canary-grant", Scopes: []verbs.Scope{{Resource: "server:root", Rights: []string{"read", "write", "spawn", "admin"}}}}, &grant)
	as := h.as(grant.Token)
	h.must(as.Call(context.Background(), verbs.PaneSplit, verbs.PaneSplitParams{Pane: first.ID, Axis: "cols", Argv: []string{"sleep", "1000"}}, &verbs.PaneResult{}))
	h.must(as.Call(context.Background(), verbs.PaneNew, verbs.PaneNewParams{Argv: []string{"sleep", "1000"}}, &verbs.PaneResult{}))
	var share verbs.ShareCreateResult
	h.must(as.Call(context.Background(), verbs.ShareCreate, verbs.ShareCreateParams{Resource: "pane:" + first.ID, Right: "write", Label: "canary-link"}, &share))
	_, token, _ := strings.Cut(share.URL, "#")
	ready := "granted-" + first.ID
	within := h.start("sh", "-c", "until [ -e "+h.dir+"/"+ready+" ]; do sleep 0.05; done\n"+h.script("made-"+first.ID, "pane new -- sleep 1000")+"sleep 1000")
	var pane verbs.GrantIssueResult
	h.call(verbs.GrantIssue, verbs.GrantIssueParams{Principal: "pane:" + within.ID, Label: "canary-pane", Scopes: []verbs.Scope{{Resource: "server:root", Rights: []string{"spawn", "write"}}}}, &pane)
	h.must(os.WriteFile(filepath.Join(h.dir, ready), nil, 0o600))
	if got := h.codes("made-" + first.ID); got != "0" {
		h.Errorf("a program in a pane makes one: %s", got)
	}
	return []string{"canary-", grant.Grant, grant.Principal, grant.Token, pane.Grant, share.Share, share.URL, token}
}

// stored reads all that lies in the folder of state and looks for what must not be there.
func (h *host) stored(secrets []string) {
	h.Helper()
	files := 0
	h.must(filepath.WalkDir(h.dir+"/s", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if found := idOfSomebody.Find(raw); found != nil {
			h.Errorf("%s holds %s", filepath.Base(path), found)
		}
		for _, secret := range secrets {
			if secret == "" || strings.Contains(string(raw), secret) {
				h.Errorf("%s holds %q", filepath.Base(path), secret)
			}
		}
		return nil
	}))
	if files == 0 {
		h.Error("nothing is stored")
	}
}

// hides holds a text to having none of the secrets.
func (h *host) hides(secrets []string, what, text string) {
	h.Helper()
	if text == "" {
		h.Errorf("%s is empty", what)
	}
	for _, secret := range secrets {
		if secret == "" || strings.Contains(text, secret) {
			h.Errorf("%s holds %q", what, secret)
		}
	}
}

// findingsOf leaves out the checks of other rooms, which name folders.
func findingsOf(report string) string {
	_, after, _ := strings.Cut(report, `"recovery.store"`)
	return after
}
