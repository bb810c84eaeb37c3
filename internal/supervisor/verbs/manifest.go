// SPDX-License-Identifier: Apache-2.0

// Package verbs is spawnd's control socket: one table of what can be asked, and the server that answers.
//
// One request is one line, {"id":1,"verb":"pane.list","params":{}}, and so is its answer:
// {"id":1,"ok":{…}} or {"id":1,"error":{"code":"not_found.pane","message":"…","data":{}}}. Requests of one
// connection are answered in order. After the answer to a streaming verb the connection carries the
// frames of package wire instead, and no more lines.
//
// A request passes these stations, and nothing of a later one shows in the answer of an earlier one:
//
//	line ─1 strict JSON ─2 who asks ─3 strict parameters ─4 rights ─5 the verb's own work
//
// The command line, help, completions, man pages, docs/verbs.md, docs/verbs.schema.json and the page's types
// are made from the table.
package verbs

import (
	"context"
	"slices"
	"time"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs/shape"
)

//go:generate go run -C ../../.. ./internal/supervisor/verbs/gen

// Server is what the verbs act on. Its methods may be called from many goroutines at once. They return
// an *Error for what the caller should know.
type Server interface {
	Panes
	Viewers
	Pairing
	Daemon
	Checkpoints
	Happenings
	Granting
	Sharing
	Settings
	Ending
	Texts
	Arrangement
	Steering
}

// Verb is one row of the table.
type Verb struct {
	Name    string
	Summary string // one line, for help
	Right   Right  // on On, or on each element of the result when Each is set
	Also    []Also // further rights on the same resource
	On      Resource
	Each    bool         // the result leaves out what the caller may not see
	Params  shape.Struct // what it takes
	Result  shape.Struct // what it gives
	Errors  []Code       // that it may give beside those of every verb
	Stream  bool         // frames follow the result
	Lines   bool         // lines of JSON follow the result, until either side closes
	Own     bool         // the Authority decides by what is asked; Right is zero
	Types   bool         // is typing, or about who types: all that a guest's right to write is for
	Example any          // parameters as a reader may write them; On is what they name

	waits bool // may take as long as its parameters say
	long  func(params Raw) time.Duration
	zero  func() any // a pointer to an empty result
	check func(params Raw) error
	allow func(by Authority, c Caller, params Raw) error
	run   func(ctx context.Context, a *ask, params Raw) (any, error)
}

// Also is a further right that a verb needs, and when.
type Also struct {
	Right Right
	When  string // "" for always
}

// Table returns every verb, in the order of help.
func Table() []Verb { return slices.Clone(table) }

// Lookup finds a verb by its name.
func Lookup(name string) (Verb, bool) {
	i := slices.IndexFunc(table, func(v Verb) bool { return v.Name == name })
	if i < 0 {
		return Verb{}, false
	}
	return table[i], true
}

// NewResult returns a pointer to an empty result of the verb, to decode an answer into.
func (v Verb) NewResult() any { return v.zero() }

// ReadsOnly reports whether the verb changes nothing, whoever calls it.
func (v Verb) ReadsOnly() bool {
	return !v.Own && !slices.ContainsFunc(v.rights(), func(r Right) bool { return r != RightRead })
}

// May reports whether the verb declares the code, or every verb has it.
func (v Verb) May(code Code) bool {
	s, known := code.spec()
	return known && (s.Always || slices.Contains(v.Errors, code)) || slices.ContainsFunc(v.rights(), func(r Right) bool { return code == denied(r) })
}

func (v Verb) rights() []Right {
	var all []Right
	if !v.Own {
		all = append(all, v.Right)
	}
	for _, a := range v.Also {
		all = append(all, a.Right)
	}
	return all
}

var table = slices.Concat(paneVerbs, placeVerbs, textVerbs, windowVerbs, sessionVerbs, viewerVerbs, steerVerbs, eventVerbs, pairingVerbs, shareVerbs, grantVerbs, settingVerbs,
	daemonVerbs, recoveryVerbs, endingVerbs)

// params is what every type of parameters says of itself.
type params interface {
	// on is the resource that the rights are needed on.
	on() Resource
}

// crossed is what types of parameters have whose members limit each other.
type crossed interface{ check() *Error }

// row declares a verb. What its parameters are and must be is in the tags of P.
type row[P params, R any] struct {
	Name, Summary string
	Right         Right
	Each          bool
	Also          []also[P]
	Errors        []Code
	Stream        bool
	Lines, Own    bool
	Types         bool
	// Within is how long the verb may run by its parameters; nil is runTimeout.
	Within  func(P) time.Duration
	Example P
	Do      func(context.Context, *ask, P) (R, error)
}

// also is a further right, needed when holds says so; nil is always.
type also[P params] struct {
	Right Right
	When  string
	holds func(P) bool
}

// ask is one request under way: the server to do it on, and who wants it.
type ask struct {
	Server
	conn   *conn
	caller Caller
}

// may reports whether the caller has a right, for verbs that leave out what it does not see.
func (a *ask) may(right Right, on Resource) bool { return a.check(right, on) == nil }

// check refuses who has no such right. It is asked before anything is looked up, so the answer is the
// same whether the resource exists or not.
func (a *ask) check(right Right, on Resource) error {
	return checked(a.conn.s.o.Authority, a.caller)(right, on)
}

func checked(by Authority, c Caller) func(Right, Resource) error {
	return func(right Right, on Resource) error {
		if err := by.Check(c, right, on); err != nil {
			return refuse(err, right, on, c)
		}
		return nil
	}
}

func (r row[P, R]) verb() Verb {
	var p P
	var result R
	v := Verb{
		Name: r.Name, Summary: r.Summary, Right: r.Right, On: r.Example.on(), Each: r.Each, Params: shape.Of(p), Result: shape.Of(result),
		Errors: r.Errors, Stream: r.Stream, Lines: r.Lines, Own: r.Own, Types: r.Types, Example: r.Example,
		zero: func() any { return new(R) }, waits: r.Within != nil,
	}
	v.check = func(src Raw) error {
		_, err := decode[P](v.Params, src)
		return err
	}
	v.allow = func(by Authority, c Caller, src Raw) error {
		p, err := decode[P](v.Params, src)
		if err != nil {
			return err
		}
		return r.authorize(r.forGuest(checked(by, c), c), p)
	}
	for _, a := range r.Also {
		v.Also = append(v.Also, Also{a.Right, a.When})
	}
	v.long = func(src Raw) time.Duration {
		if p, err := decode[P](v.Params, src); err == nil {
			return r.within(p)
		}
		return runTimeout
	}
	v.run = func(ctx context.Context, a *ask, src Raw) (any, error) {
		p, err := decode[P](v.Params, src)
		if err != nil {
			return nil, err
		}
		if err := r.authorize(r.forGuest(a.check, a.caller), p); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, r.within(p))
		defer cancel()
		return r.Do(ctx, a, p)
	}
	return v
}

func (r row[P, R]) within(p P) time.Duration {
	if r.Within == nil {
		return runTimeout
	}
	return r.Within(p)
}

// forGuest is check for a caller who came by a share link: of what changes anything, such a caller may do nothing
// but type, whatever the link's right is on. How things are placed and called is for those whose they are.
func (r row[P, R]) forGuest(check func(Right, Resource) error, c Caller) func(Right, Resource) error {
	if g, ok := c.(Guest); !ok || !g.Guest() || r.Types {
		return check
	}
	return func(right Right, on Resource) error {
		if right != RightRead {
			return refuse(nil, right, on, c)
		}
		return check(right, on)
	}
}

// authorize is station 4.
func (r row[P, R]) authorize(check func(Right, Resource) error, p P) error {
	if !r.Each && !r.Own {
		if err := check(r.Right, p.on()); err != nil {
			return err
		}
	}
	for _, also := range r.Also {
		if also.holds != nil && !also.holds(p) {
			continue
		}
		if err := check(also.Right, p.on()); err != nil {
			return err
		}
	}
	return nil
}

// Allow returns what a caller with these parameters is refused for want of a right, and nothing else that may
// be wrong. A verb that leaves out what is not seen, or whose Authority decides by itself, refuses nobody here.
func (v Verb) Allow(by Authority, c Caller, params Raw) error { return v.allow(by, c, params) }

// decode reads parameters, which may be left out as a whole when none is needed.
func decode[P params](s shape.Struct, src Raw) (P, error) {
	var p P
	if src == nil {
		src = Raw("{}")
	}
	if err := s.Decode(src, &p); err != nil {
		return p, invalid(err)
	}
	if c, ok := any(p).(crossed); ok {
		if err := c.check(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Long is how long the verb may run with the parameters, beside what it takes to ask for it.
func (v Verb) Long(params any) time.Duration {
	src, err := strictjson.Marshal(params)
	if err != nil {
		return runTimeout
	}
	return v.long(src)
}

// CheckParams holds parameters to the same rules as spawnd does, so that a mistake is told without one.
func (v Verb) CheckParams(params any) error {
	src, err := strictjson.Marshal(params)
	if err != nil {
		return invalid(err) // somebody else encoded them, and not in our one way
	}
	return v.check(src)
}
