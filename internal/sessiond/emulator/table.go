// SPDX-License-Identifier: Apache-2.0

package emulator

// state is a state of the VT500 parser (Paul Williams, vt100.net), with the
// deviations of xterm.js: string bodies are UTF-8, C1 controls act as code
// points U+0080–U+009F in every state.
type state uint8

const (
	ground state = iota
	escape
	escapeIntermediate
	csiEntry
	csiParam
	csiIntermediate
	csiIgnore
	skippedString // SOS, PM, APC
	oscString
	dcsEntry
	dcsParam
	dcsIgnore
	dcsIntermediate
	dcsPassthrough
	stateCount
)

// action is what the parser does on a transition.
type action uint8

const (
	actIgnore action = iota
	actPrint
	actExecute
	actClear
	actCollect
	actParam
	actEscDispatch
	actCsiDispatch
	actOscStart
	actOscPut
	actOscEnd
	actDcsHook
	actDcsPut
	actDcsUnhook
)

// otherRune stands in the table for all code points from U+00A0 on.
const otherRune = 0xa0

// transition packs an action and the next state.
type transition uint8

func (tr transition) action() action { return action(tr >> 4) }
func (tr transition) next() state    { return state(tr & 15) }

// transitions is indexed by state and by code point, otherRune at most.
var transitions = buildTransitions()

type transitionTable [stateCount][otherRune + 1]transition

func (tt *transitionTable) add(s state, from, to int, a action, next state) {
	for c := from; c <= to; c++ {
		tt[s][c] = transition(a)<<4 | transition(next)
	}
}

// controls gives the C0 controls that don't end a sequence the same meaning.
func (tt *transitionTable) controls(s state, a action) {
	tt.add(s, 0x00, 0x17, a, s)
	tt.add(s, 0x19, 0x19, a, s)
	tt.add(s, 0x1c, 0x1f, a, s)
}

func buildTransitions() *transitionTable {
	tt := &transitionTable{}
	for s := range stateCount {
		tt.add(s, 0, otherRune, actIgnore, ground)
		tt.anywhere(s)
	}
	tt.groundRules()
	tt.escapeRules()
	tt.csiRules()
	tt.stringRules()
	tt.dcsRules()
	return tt
}

// anywhere holds the rules of every state; later ones override them.
func (tt *transitionTable) anywhere(s state) {
	tt.add(s, 0x18, 0x18, actExecute, ground)
	tt.add(s, 0x1a, 0x1a, actExecute, ground)
	tt.add(s, 0x1b, 0x1b, actClear, escape)
	tt.add(s, 0x80, 0x9a, actExecute, ground)
	tt.add(s, 0x90, 0x90, actClear, dcsEntry)
	tt.add(s, 0x98, 0x98, actIgnore, skippedString)
	tt.add(s, 0x9b, 0x9b, actClear, csiEntry)
	tt.add(s, 0x9c, 0x9c, actIgnore, ground)
	tt.add(s, 0x9d, 0x9d, actOscStart, oscString)
	tt.add(s, 0x9e, 0x9f, actIgnore, skippedString)
}

func (tt *transitionTable) groundRules() {
	tt.controls(ground, actExecute)
	tt.add(ground, 0x20, 0x7e, actPrint, ground)
	tt.add(ground, otherRune, otherRune, actPrint, ground)
}

func (tt *transitionTable) escapeRules() {
	tt.controls(escape, actExecute)
	tt.add(escape, 0x20, 0x2f, actCollect, escapeIntermediate)
	tt.add(escape, 0x30, 0x7e, actEscDispatch, ground)
	tt.add(escape, 'P', 'P', actClear, dcsEntry)
	tt.add(escape, 'X', 'X', actIgnore, skippedString)
	tt.add(escape, '[', '[', actClear, csiEntry)
	tt.add(escape, ']', ']', actOscStart, oscString)
	tt.add(escape, '^', '_', actIgnore, skippedString)
	tt.add(escape, 0x7f, 0x7f, actIgnore, escape)

	tt.controls(escapeIntermediate, actExecute)
	tt.add(escapeIntermediate, 0x20, 0x2f, actCollect, escapeIntermediate)
	tt.add(escapeIntermediate, 0x30, 0x7e, actEscDispatch, ground)
	tt.add(escapeIntermediate, 0x7f, 0x7f, actIgnore, escapeIntermediate)
}

func (tt *transitionTable) csiRules() {
	tt.controls(csiEntry, actExecute)
	tt.add(csiEntry, 0x20, 0x2f, actCollect, csiIntermediate)
	tt.add(csiEntry, 0x30, 0x3b, actParam, csiParam)
	tt.add(csiEntry, 0x3c, 0x3f, actCollect, csiParam)
	tt.add(csiEntry, 0x40, 0x7e, actCsiDispatch, ground)
	tt.add(csiEntry, 0x7f, 0x7f, actIgnore, csiEntry)

	tt.controls(csiParam, actExecute)
	tt.add(csiParam, 0x20, 0x2f, actCollect, csiIntermediate)
	tt.add(csiParam, 0x30, 0x3b, actParam, csiParam)
	tt.add(csiParam, 0x3c, 0x3f, actIgnore, csiIgnore)
	tt.add(csiParam, 0x40, 0x7e, actCsiDispatch, ground)
	tt.add(csiParam, 0x7f, 0x7f, actIgnore, csiParam)

	tt.controls(csiIntermediate, actExecute)
	tt.add(csiIntermediate, 0x20, 0x2f, actCollect, csiIntermediate)
	tt.add(csiIntermediate, 0x30, 0x3f, actIgnore, csiIgnore)
	tt.add(csiIntermediate, 0x40, 0x7e, actCsiDispatch, ground)
	tt.add(csiIntermediate, 0x7f, 0x7f, actIgnore, csiIntermediate)

	tt.controls(csiIgnore, actExecute)
	tt.add(csiIgnore, 0x20, 0x3f, actIgnore, csiIgnore)
	tt.add(csiIgnore, 0x40, 0x7e, actIgnore, ground)
	tt.add(csiIgnore, 0x7f, 0x7f, actIgnore, csiIgnore)
	tt.add(csiIgnore, otherRune, otherRune, actIgnore, csiIgnore)
}

func (tt *transitionTable) stringRules() {
	tt.controls(skippedString, actIgnore)
	tt.add(skippedString, 0x20, 0x7f, actIgnore, skippedString)

	tt.controls(oscString, actIgnore)
	tt.add(oscString, 0x20, 0x7f, actOscPut, oscString)
	tt.add(oscString, otherRune, otherRune, actOscPut, oscString)
	for _, end := range []int{0x07, 0x18, 0x1a, 0x9c} {
		tt.add(oscString, end, end, actOscEnd, ground)
	}
	tt.add(oscString, 0x1b, 0x1b, actOscEnd, escape)
}

func (tt *transitionTable) dcsRules() {
	for _, s := range []state{dcsEntry, dcsParam, dcsIntermediate} {
		tt.controls(s, actIgnore)
		tt.add(s, 0x20, 0x2f, actCollect, dcsIntermediate)
		tt.add(s, 0x30, 0x3b, actParam, dcsParam)
		tt.add(s, 0x3c, 0x3f, actIgnore, dcsIgnore)
		tt.add(s, 0x40, 0x7e, actDcsHook, dcsPassthrough)
		tt.add(s, 0x7f, 0x7f, actIgnore, s)
	}
	tt.add(dcsEntry, 0x3c, 0x3f, actCollect, dcsParam)
	tt.add(dcsIntermediate, 0x30, 0x3f, actIgnore, dcsIgnore)

	tt.controls(dcsIgnore, actIgnore)
	tt.add(dcsIgnore, 0x20, 0x7f, actIgnore, dcsIgnore)
	tt.add(dcsIgnore, otherRune, otherRune, actIgnore, dcsIgnore)

	tt.controls(dcsPassthrough, actDcsPut)
	tt.add(dcsPassthrough, 0x20, 0x7e, actDcsPut, dcsPassthrough)
	tt.add(dcsPassthrough, 0x7f, 0x7f, actIgnore, dcsPassthrough)
	tt.add(dcsPassthrough, otherRune, otherRune, actDcsPut, dcsPassthrough)
	for _, end := range []int{0x18, 0x1a, 0x9c} {
		tt.add(dcsPassthrough, end, end, actDcsUnhook, ground)
	}
	tt.add(dcsPassthrough, 0x1b, 0x1b, actDcsUnhook, escape)
}
