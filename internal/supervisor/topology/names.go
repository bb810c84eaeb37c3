// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanName takes a name that a person gave, without the space around it. Characters that do not show, or
// that turn the direction of what follows, are refused rather than dropped: the person is there to choose
// another. The empty name is fine where a pane or a window stays without one.
func CleanName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if !utf8.ValidString(name) {
		return "", fmt.Errorf("check name: not UTF-8: %w", ErrName)
	}
	if n := utf8.RuneCountInString(name); n > NameRunesMax {
		return "", fmt.Errorf("check name: %d characters, at most %d: %w", n, NameRunesMax, ErrName)
	}
	if shown := keepShown(name); shown != name {
		return "", fmt.Errorf("check name %q: has characters that do not show: %w", name, ErrName)
	}
	return name, nil
}

// IsName reports whether a pane or a window can have the name just as it is. "" is none.
func IsName(name string) bool {
	clean, err := CleanName(name)
	return err == nil && clean == name
}

// IsSessionName is IsName for a session, which cannot be without one.
func IsSessionName(name string) bool { return name != "" && IsName(name) }

// CleanTitle makes a title that a program set fit to be shown: it drops what does not show and cuts the
// rest. A program cannot be asked for another, so nothing is refused.
func CleanTitle(title string) string {
	if len(title) > 16*TitleRunesMax { // the walk below is bounded whatever the program sent
		title = title[:16*TitleRunesMax]
	}
	title = strings.TrimSpace(keepShown(strings.ToValidUTF8(title, "\uFFFD")))
	runes := 0
	for i := range title {
		if runes++; runes > TitleRunesMax {
			return strings.TrimSpace(keepShown(title[:i]))
		}
	}
	return title
}

// CleanArgv0 is what may be known of a command: the last part of the path of its first word, made fit to be shown
// like a title, and at most Argv0Max bytes. Folders and arguments may hold secrets.
func CleanArgv0(argv0 string) string {
	argv0 = argv0[strings.LastIndexByte(argv0, '/')+1:]
	if len(argv0) > Argv0Max {
		argv0 = argv0[:Argv0Max]
	}
	argv0 = strings.TrimSpace(keepShown(strings.ToValidUTF8(argv0, "")))
	return argv0
}

// keepShown drops control, format (direction marks, zero-width spaces, tags), line-separating and private
// characters, and letters and marks that show nothing (the fillers of Hangul, the grapheme joiner). A joiner stays between two characters that show, where it makes one emoji or one Persian
// word of them. Dropping twice drops nothing more.
func keepShown(s string) string {
	kept := strings.Map(func(r rune) rune {
		if isJoiner(r) || unicode.IsGraphic(r) && !unicode.In(r, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) {
			return r
		}
		return -1
	}, s)
	return dropLooseJoiners(kept)
}

func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

func dropLooseJoiners(s string) string {
	if !strings.ContainsAny(s, "\u200c\u200d") {
		return s
	}
	runes := []rune(s)
	out := runes[:0:0]
	for i, r := range runes {
		if isJoiner(r) && (len(out) == 0 || !joins(out[len(out)-1]) || i+1 == len(runes) || !joins(runes[i+1])) {
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

func joins(r rune) bool { return !isJoiner(r) && !unicode.IsSpace(r) }

// cleanSessionName is CleanName for what cannot be without one.
func cleanSessionName(name string) (string, error) {
	name, err := CleanName(name)
	if err == nil && name == "" {
		err = fmt.Errorf("a session needs a name: %w", ErrName)
	}
	return name, err
}
