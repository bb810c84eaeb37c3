// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"
	"net"
)

// Right is what a caller must have on a resource.
type Right uint8

const (
	RightRead  Right = 1 // see what is there
	RightWrite Right = 2 // type into a pane, size it, name it
	RightSpawn Right = 3 // start processes
	RightAdmin Right = 4 // end terminals, let others in
)

func (r Right) String() string {
	return [...]string{"none", "read", "write", "spawn", "admin"}[r]
}

// Rights returns all of them, the least first.
func Rights() []Right { return []Right{RightRead, RightWrite, RightSpawn, RightAdmin} }

// Resource names what a right is needed on: server:root, or a kind and an id, such as pane:p0.
type Resource string

// ServerRoot is spawnd as a whole.
const ServerRoot Resource = "server:root"

func onPane(id string) Resource { return Resource("pane:" + id) }

// Caller is who asks. What else is known of it, Identity and Authority agree on between them.
type Caller interface {
	// Principal is its name, for errors and records; never a token.
	Principal() string
}

// Guest is what a caller also is that may have come by a share link.
type Guest interface {
	// Guest reports whether it has.
	Guest() bool
}

// Identity finds out who asks.
type Identity interface {
	// Identify tells the caller by the kernel's word on the peer and the request's token, "" without one.
	// A token that is not good is an error, never a lesser caller.
	Identify(peer *net.UnixConn, token string) (Caller, error)
}

// Authority decides who may do what.
type Authority interface {
	// Check returns an error unless the caller has the right on the resource. It must not tell whether the
	// resource exists.
	Check(c Caller, right Right, on Resource) error
}

// Owner takes every peer for the owner, who may do everything: the socket is private to the user.
type Owner struct{}

var errToken = errors.New("no tokens are issued here")

// Principal is part of Caller.
func (Owner) Principal() string { return "owner" }

// Identify is part of Identity.
func (o Owner) Identify(_ *net.UnixConn, token string) (Caller, error) {
	if token != "" {
		return nil, errToken
	}
	return o, nil
}

// Check is part of Authority.
func (Owner) Check(Caller, Right, Resource) error { return nil }

// refuse is what a caller is told that has not the right. What else err says is not its business.
func refuse(err error, right Right, on Resource, c Caller) *Error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	return Errorf(denied(right), "%s on %s is not granted", right, on).
		With("right", right.String()).With("resource", string(on)).With("principal", c.Principal())
}

func denied(r Right) Code { return Code("denied." + r.String()) }
