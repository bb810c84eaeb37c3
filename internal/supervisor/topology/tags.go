// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// OwnerKey is the tag that names who made the pane. It is a label like any other and gives no right, but
// only the daemon sets it.
const OwnerKey = "owner"

// Tag is a label on a pane, for programs to find it by.
type Tag struct {
	Key   string `json:"key"`   // [a-z][a-z0-9_.-]{0,31}
	Value string `json:"value"` // at most TagValueMax bytes that show; may be empty
}

// Tag returns the value of the pane's tag.
func (p Pane) Tag(key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(p.Tags, key, compareTag)
	if !ok {
		return "", false
	}
	return p.Tags[i].Value, true
}

// SetTag gives the pane a tag or replaces the tag's value.
func (t Tree) SetTag(pane, key, value string) (Tree, error) {
	if key == OwnerKey {
		return t, fmt.Errorf("tag pane %s: %w", pane, ErrOwner)
	}
	return t.changePane("tag", pane, func(p *Pane) (err error) {
		_, owned := p.Tag(OwnerKey)
		if _, known := p.Tag(key); !known && !owned && len(p.Tags) >= TagsMax-1 {
			return fmt.Errorf("%d tags, and one place is the owner's: %w", len(p.Tags), ErrFull)
		}
		p.Tags, err = withTag(p.Tags, Tag{key, value})
		return err
	})
}

// RemoveTag takes a tag away. One that the pane does not have is fine.
func (t Tree) RemoveTag(pane, key string) (Tree, error) {
	if key == OwnerKey {
		return t, fmt.Errorf("untag pane %s: %w", pane, ErrOwner)
	}
	return t.changePane("untag", pane, func(p *Pane) error {
		i, ok := slices.BinarySearchFunc(p.Tags, key, compareTag)
		if !ok {
			return nil
		}
		if len(p.Tags) == 1 {
			p.Tags = nil
			return nil
		}
		p.Tags = slices.Delete(slices.Clone(p.Tags), i, i+1)
		return nil
	})
}

func compareTag(t Tag, key string) int { return strings.Compare(t.Key, key) }

// withTag returns tags of its own with one set.
func withTag(tags []Tag, tag Tag) ([]Tag, error) {
	if err := tag.Check(); err != nil {
		return nil, err
	}
	at, known := slices.BinarySearchFunc(tags, tag.Key, compareTag)
	tags = slices.Clone(tags)
	if known {
		tags[at] = tag
		return tags, nil
	}
	if len(tags) >= TagsMax {
		return nil, fmt.Errorf("%d tags: %w", len(tags), ErrFull)
	}
	return slices.Insert(tags, at, tag), nil
}

func ownedBy(owner string) ([]Tag, error) {
	if owner == "" {
		return nil, nil
	}
	return withTag(nil, Tag{OwnerKey, owner})
}

// Check reports, with ErrTag, a key or a value that breaks a rule.
func (t Tag) Check() error {
	if !isName(t.Key, TagKeyMax, "_.-") {
		return fmt.Errorf("key %q: %w", t.Key, ErrTag)
	}
	if len(t.Value) > TagValueMax || !showsWhole(t.Value) {
		return fmt.Errorf("value %q of %s: %w", t.Value, t.Key, ErrTag)
	}
	return nil
}

func checkTags(tags []Tag) error {
	if len(tags) > TagsMax {
		return fmt.Errorf("%d tags: %w", len(tags), ErrFull)
	}
	if tags != nil && len(tags) == 0 {
		return fmt.Errorf("empty tags are written as none: %w", ErrTag)
	}
	for i, tag := range tags {
		if err := tag.Check(); err != nil {
			return err
		}
		if i > 0 && tags[i-1].Key >= tag.Key {
			return fmt.Errorf("key %q is out of order: %w", tag.Key, ErrTag)
		}
	}
	return nil
}

// isName reports whether s is a lower-case letter, then such letters, digits and marks.
func isName(s string, bytesMax int, marks string) bool {
	if len(s) == 0 || len(s) > bytesMax || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(marks, rune(c)) {
			return false
		}
	}
	return true
}

// showsWhole reports whether s is UTF-8 without control, format or direction characters.
func showsWhole(s string) bool { return utf8.ValidString(s) && keepShown(s) == s }
