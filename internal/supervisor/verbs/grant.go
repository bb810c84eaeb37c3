// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Granting is what the verbs of grants and devices act on. Who asks is CallerOf the context.
type Granting interface {
	IssueGrant(ctx context.Context, p GrantIssueParams) (GrantIssueResult, error)
	// Grants lists what the caller may know of.
	Grants(ctx context.Context, p Empty) (GrantListResult, error)
	RevokeGrant(ctx context.Context, p GrantRevokeParams) (Empty, error)

	Devices(ctx context.Context, p Empty) (DeviceListResult, error)
	RevokeDevice(ctx context.Context, p DeviceRevokeParams) (Empty, error)
}

// Names of the verbs of grants and devices.
const (
	GrantIssue   = "grant.issue"
	GrantList    = "grant.list"
	GrantRevoke  = "grant.revoke"
	DeviceList   = "device.list"
	DeviceRevoke = "device.revoke"
)

type (
	// GrantIssueParams say who is given what. Nobody can give more than they have.
	GrantIssueParams struct {
		Principal string  `json:"principal,omitzero" max:"64" help:"who is given it; left out: a new agent, whose token is the result"`
		Scopes    []Scope `json:"scopes" min:"1" max:"16" help:"what is given"`
		Label     string  `json:"label,omitzero" max:"128" help:"what it is for"`
		Seconds   uint32  `json:"seconds,omitzero" min:"1" help:"how long it is good; left out: until it is revoked"`
	}

	// Scope is rights on one resource and all below it.
	Scope struct {
		Resource string   `json:"resource" like:"resource" help:"what the rights are on, such as session:s0"`
		Rights   []string `json:"rights" min:"1" max:"4" help:"of read, write, spawn and admin"`
	}

	GrantIssueResult struct {
		Grant     string `json:"grant" like:"grant" help:"id of the grant"`
		Principal string `json:"principal" help:"who was given it"`
		Token     string `json:"token,omitzero" help:"of a new agent, for SPAWN_TOKEN; it is shown this once"`
	}

	GrantListResult struct {
		Grants []Grant `json:"grants" help:"grants that are good, the oldest first"`
	}

	Grant struct {
		Grant     string  `json:"grant" like:"grant" help:"id of the grant"`
		Principal string  `json:"principal" help:"who was given it"`
		Scopes    []Scope `json:"scopes" help:"what was given"`
		Label     string  `json:"label" help:"what it is for: escape it where you show it"`
		By        string  `json:"by" help:"principal that issued it"`
		IssuedAt  int64   `json:"issued_at" help:"when it was issued, in Unix milliseconds"`
		ExpiresAt int64   `json:"expires_at" help:"until when it is good, in Unix milliseconds; 0 for until it is revoked"`
	}

	GrantRevokeParams struct {
		Grant string `json:"grant" like:"grant" help:"id of the grant"`
	}

	DeviceListResult struct {
		Devices []Device `json:"devices" help:"paired browsers, in the order of their pairing"`
	}

	Device struct {
		Device   string `json:"device" like:"device" help:"id of the browser"`
		Name     string `json:"name" help:"name that it gave itself: escape it where you show it"`
		PairedAt int64  `json:"paired_at" help:"when it was paired, in Unix milliseconds"`
		SeenAt   int64  `json:"seen_at" help:"the beginning of the hour in which it was here last, in Unix milliseconds"`
		Online   bool   `json:"online" help:"it is connected"`
	}

	DeviceRevokeParams struct {
		Device string `json:"device" like:"device" help:"id of the browser"`
	}
)

func (GrantIssueParams) on() Resource   { return ServerRoot }
func (GrantRevokeParams) on() Resource  { return ServerRoot }
func (DeviceRevokeParams) on() Resource { return ServerRoot }

func (p GrantIssueParams) check() *Error { return checkRights(p.Scopes, "scopes") }

// checkRights refuses scopes that name a right which there is not.
func checkRights(scopes []Scope, param string) *Error {
	for _, s := range scopes {
		for _, name := range s.Rights {
			if name != "read" && name != "write" && name != "spawn" && name != "admin" {
				return Errorf(CodeInvalidParams, "a right is read, write, spawn or admin").With("param", param)
			}
		}
	}
	return nil
}

// delegated are the refusals of who passes on what they do not have. Whoever gives something away needs
// exactly what they give: the Authority decides, scope by scope.
func delegated(more ...Code) []Code {
	return append([]Code{denied(RightRead), denied(RightWrite), denied(RightSpawn), denied(RightAdmin)}, more...)
}

var grantVerbs = []Verb{
	row[GrantIssueParams, GrantIssueResult]{
		Name: GrantIssue, Summary: "give a program an identity, or rights to one, of what the caller has", Own: true,
		Errors:  delegated(CodeNoPane, CodeNoWindow, CodeNoSession, CodeNoGrant, CodeFull),
		Example: GrantIssueParams{Scopes: []Scope{{"pane:p0", []string{"read", "write"}}}, Label: "builder", Seconds: 3600},
		Do:      via(Granting.IssueGrant),
	}.verb(),
	row[Empty, GrantListResult]{
		Name: GrantList, Summary: "list the grants that the caller may know of", Right: RightRead, Each: true,
		Do: via(Granting.Grants),
	}.verb(),
	row[GrantRevokeParams, Empty]{
		Name: GrantRevoke, Summary: "end a grant, and what was issued by it", Own: true,
		Errors: delegated(CodeNoGrant), Example: GrantRevokeParams{"g_0123456789abcdef"},
		Do: via(Granting.RevokeGrant),
	}.verb(),
	row[Empty, DeviceListResult]{
		Name: DeviceList, Summary: "list the paired browsers", Right: RightAdmin,
		Do: via(Granting.Devices),
	}.verb(),
	row[DeviceRevokeParams, Empty]{
		Name: DeviceRevoke, Summary: "forget a paired browser, and end what it has open", Right: RightAdmin,
		Errors: []Code{CodeNoDevice}, Example: DeviceRevokeParams{"d_0123456789abcdef"},
		Do: via(Granting.RevokeDevice),
	}.verb(),
}
