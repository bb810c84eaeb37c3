// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Right is one thing that a principal may do with a resource and with all that the resource holds.
type Right uint8

const (
	Read  Right = 1 << 0 // see that it is there, and what it shows
	Write Right = 1 << 1 // type, size, rename, close
	Spawn Right = 1 << 2 // start programs in it
	Admin Right = 1 << 3 // all of the above, and let others in
)

// rightNames lists every right, in the order in which sets of them print.
var rightNames = []struct {
	right Right
	name  string
}{{Read, "read"}, {Write, "write"}, {Spawn, "spawn"}, {Admin, "admin"}}

func (r Right) String() string { return Rights(r).String() }

// ParseRight is the inverse of String.
func ParseRight(name string) (Right, error) {
	for _, known := range rightNames {
		if known.name == name {
			return known.right, nil
		}
	}
	return 0, fmt.Errorf("parse right %q: want read, write, spawn or admin", name)
}

// Rights are a set of rights. The zero value is none.
type Rights uint8

// RightsOf makes a set.
func RightsOf(rights ...Right) Rights {
	var set Rights
	for _, r := range rights {
		set |= Rights(r)
	}
	return set
}

// Has reports whether the set gives the right. Admin gives every right.
func (s Rights) Has(r Right) bool { return s&Rights(r|Admin) != 0 }

// List names what is in the set, without what Admin implies.
func (s Rights) List() []Right {
	var list []Right
	for _, known := range rightNames {
		if s&Rights(known.right) != 0 {
			list = append(list, known.right)
		}
	}
	return list
}

func (s Rights) String() string {
	var names []string
	for _, known := range rightNames {
		if s&Rights(known.right) != 0 {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ",")
}

// A Resource is what a right is about: "server:root", "session:s0", "window:w0" or "pane:p0". A right on
// one holds for everything below it.
type Resource string

// Root is what holds all sessions.
const Root Resource = "server:root"

// resourceKinds tells the letter of an id from its kind.
var resourceKinds = map[byte]string{'s': "session", 'w': "window", 'p': "pane"}

// ErrResource means that a text names no resource. It says nothing about whether one exists.
var ErrResource = errors.New("not a resource: want server:root, session:s0, window:w0 or pane:p0")

// ResourceOf is the resource that has the id: "p0" is "pane:p0".
func ResourceOf(id string) (Resource, error) {
	if len(id) > 1 {
		n, err := strconv.ParseUint(id[1:], 10, 63)
		if kind, ok := resourceKinds[id[0]]; ok && err == nil && strconv.FormatUint(n, 10) == id[1:] {
			return Resource(kind + ":" + id), nil
		}
	}
	return "", fmt.Errorf("parse id %q: %w", clip(id), ErrResource)
}

// ParseResource reads the one canonical form.
func ParseResource(text string) (Resource, error) {
	if text == string(Root) {
		return Root, nil
	}
	kind, id, _ := strings.Cut(text, ":")
	if r, err := ResourceOf(id); err == nil && r.Kind() == kind {
		return r, nil
	}
	return "", fmt.Errorf("parse %q: %w", clip(text), ErrResource)
}

// String is the resource, or what a caller sent in its place, made fit to be shown.
func (r Resource) String() string {
	if _, err := ParseResource(string(r)); err != nil {
		return strconv.Quote(clip(string(r)))
	}
	return string(r)
}

// Kind is "server", "session", "window" or "pane"; "resource" for what is none of these.
func (r Resource) Kind() string {
	kind, _, _ := strings.Cut(string(r), ":")
	switch kind {
	case "server", "session", "window", "pane":
		return kind
	}
	return "resource"
}

// ID is what follows the kind.
func (r Resource) ID() string {
	_, id, _ := strings.Cut(string(r), ":")
	return id
}

// clip keeps a stranger's text short enough for an error.
func clip(text string) string {
	const most = 32
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
