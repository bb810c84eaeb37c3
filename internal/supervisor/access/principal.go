// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"fmt"
	"strings"
)

// A PrincipalKind says how somebody became known.
type PrincipalKind string

const (
	KindOwner   PrincipalKind = "owner"   // a process of the same user outside every pane, or the owner's token
	KindDevice  PrincipalKind = "device"  // a paired browser
	KindShare   PrincipalKind = "share"   // whoever holds a share link
	KindPane    PrincipalKind = "pane"    // a process inside a pane
	KindAgent   PrincipalKind = "agent"   // whoever holds the token of a grant
	KindUnknown PrincipalKind = "unknown" // a process of the same user of which nothing else can be shown
)

// A Principal is somebody who acts. It is a name and no proof: what it may do is looked up at each check,
// so one whose authority is over may still be held, and is refused everything.
type Principal struct {
	Kind PrincipalKind
	ID   string // of the device, share, pane or grant; empty for owner and unknown
}

// The two principals that have no id.
var (
	Owner   = Principal{Kind: KindOwner}
	Unknown = Principal{Kind: KindUnknown}
)

// String is the label for people and logs. It holds no text that somebody else chose.
func (p Principal) String() string {
	if p.ID == "" {
		return string(p.Kind)
	}
	return string(p.Kind) + ":" + p.ID
}

// KindOf is the kind that the label of a principal begins with. A text that is no such label and has no colon stays as it is.
func KindOf(label string) PrincipalKind {
	kind, _, _ := strings.Cut(label, ":")
	return PrincipalKind(kind)
}

// owns reports whether the principal is the user: in person, or in a paired browser.
func (p Principal) owns() bool { return p.Kind == KindOwner || p.Kind == KindDevice }

// mayDelegate reports whether the kind may hand rights on at all. A link is for whoever follows it, and
// who is not known cannot answer for anybody.
func (p Principal) mayDelegate() bool { return p.Kind != KindShare && p.Kind != KindUnknown }

// DeniedError means that the principal lacks the right. It is the same whether the resource is there or
// not, for everybody who may not see that.
type DeniedError struct {
	Right     Right
	Resource  Resource
	Principal string
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s has no right to %s %s", e.Principal, e.Right, e.Resource)
}

// Code is the name of the refusal to programs: "denied.write".
func (e *DeniedError) Code() string { return "denied." + e.Right.String() }

// MissingError means that there is no such resource. Only who may read the whole server is told.
type MissingError struct{ Resource Resource }

func (e *MissingError) Error() string { return fmt.Sprintf("there is no %s", e.Resource) }

// Code is the name of the refusal to programs: "not_found.pane".
func (e *MissingError) Code() string { return "not_found." + e.Resource.Kind() }

var (
	// ErrToken means that no living token is like the one given. Whoever gives one is never taken for
	// somebody else instead: the request has to be refused.
	ErrToken = errors.New("the token is not valid; it was revoked, has expired, or is of an earlier spawnd")
	// ErrOrder means that what was asked for cannot be granted to anybody.
	ErrOrder = errors.New("not a grant")
	// ErrNoGrant means that no living grant or link has that id, or none that the asker may know of.
	ErrNoGrant = errors.New("there is no such grant or link")
)
