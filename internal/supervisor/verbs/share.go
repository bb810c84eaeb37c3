// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"strings"
)

// Sharing is what the verbs of links act on. Who asks is CallerOf the context.
type Sharing interface {
	CreateShare(ctx context.Context, p ShareCreateParams) (ShareCreateResult, error)
	// Shares lists the links that the caller may end.
	Shares(ctx context.Context, p Empty) (ShareListResult, error)
	RevokeShare(ctx context.Context, p ShareRevokeParams) (Empty, error)
}

// Names of the verbs of links.
const (
	ShareCreate = "share.create"
	ShareList   = "share.list"
	ShareRevoke = "share.revoke"
)

type (
	ShareCreateParams struct {
		Resource string `json:"resource" like:"resource" help:"pane or session to share, such as pane:p0"`
		Right    string `json:"right,omitzero" enum:"read,write" help:"what who has the link may do; left out: read"`
		Seconds  uint32 `json:"seconds,omitzero" min:"1" max:"604800" help:"how long it is good, at most access.share_max_seconds; left out: 3600, or that"`
		Label    string `json:"label,omitzero" max:"128" help:"what the link is for; whoever has the terminal open is shown it"`
	}

	ShareCreateResult struct {
		Share     string `json:"share" like:"share" help:"id of the link"`
		URL       string `json:"url" help:"the link, which is shown this once; whoever has it is in"`
		ExpiresAt int64  `json:"expires_at" help:"until when it is good, in Unix milliseconds"`
	}

	ShareListResult struct {
		Shares []Share `json:"shares" help:"links that are good and that the caller may end, the oldest first"`
	}

	Share struct {
		Share     string `json:"share" like:"share" help:"id of the link"`
		Resource  string `json:"resource" like:"resource" help:"what is shared"`
		Right     string `json:"right" enum:"read,write" help:"what who has the link may do"`
		Label     string `json:"label" help:"what the link is for: escape it where you show it"`
		By        string `json:"by" help:"principal that made it"`
		IssuedAt  int64  `json:"issued_at" help:"when it was made, in Unix milliseconds"`
		ExpiresAt int64  `json:"expires_at" help:"until when it is good, in Unix milliseconds"`
		UsedAt    int64  `json:"used_at" help:"when it was opened last, in Unix milliseconds; 0 for never"`
		Open      int    `json:"open" help:"how many browsers have it open now"`
	}

	ShareRevokeParams struct {
		Share string `json:"share" like:"share" help:"id of the link"`
	}
)

func (p ShareCreateParams) on() Resource { return Resource(p.Resource) }
func (ShareRevokeParams) on() Resource   { return ServerRoot }

func (p ShareCreateParams) check() *Error {
	if !strings.HasPrefix(p.Resource, "pane:") && !strings.HasPrefix(p.Resource, "session:") {
		return Errorf(CodeInvalidParams, "resource is a pane or a session, such as pane:p0 or session:s0").With("param", "resource")
	}
	return nil
}

var shareVerbs = []Verb{
	row[ShareCreateParams, ShareCreateResult]{
		Name: ShareCreate, Summary: "make a link with which a browser that is not paired sees a pane or a session, for a while", Right: RightAdmin,
		Errors: []Code{CodeNoPane, CodeNoSession, CodeFull}, Example: ShareCreateParams{Resource: "pane:p0", Seconds: 3600, Label: "review"},
		Do: via(Sharing.CreateShare),
	}.verb(),
	row[Empty, ShareListResult]{
		Name: ShareList, Summary: "list the links that are good", Right: RightAdmin, Each: true,
		Do: via(Sharing.Shares),
	}.verb(),
	row[ShareRevokeParams, Empty]{
		Name: ShareRevoke, Summary: "end a link, and what is open by it", Own: true,
		Errors: []Code{CodeNoGrant}, Example: ShareRevokeParams{"l_0123456789abcdef"},
		Do: via(Sharing.RevokeShare),
	}.verb(),
}
