// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"spawn/internal/strictjson"
)

// The versions of the file that are written. A change that an older spawnd would misread raises the version. An older
// file is read by the code of its version and brought to this one (codec_v1.go, codec_v2.go); it is never rewritten
// before the next Save.
//
// A tree is written in the lowest version that can say it: version 4 has relaunches that are under way, which few trees
// have and none for long, so a build from before them can take over at nearly any moment.
const (
	formatVersion   = 3
	relaunchVersion = 4
)

// version is the one in which the tree is written.
func (t Tree) version() int {
	if slices.ContainsFunc(t.Panes, func(p Pane) bool { return p.Relaunch != nil }) {
		return relaunchVersion
	}
	return formatVersion
}

// envelope is the file.
type envelope struct {
	Version int  `json:"version"`
	Tree    Tree `json:"tree"`
}

// Encode writes the tree as JSON: the same tree always gives the same bytes.
func Encode(t Tree) ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("encode arrangement: %w", err)
	}
	return t.write(t.version())
}

func (t Tree) write(version int) ([]byte, error) {
	out, err := strictjson.Marshal(envelope{version, t})
	if err != nil {
		return nil, fmt.Errorf("encode arrangement: %w", err)
	}
	return append(out, '\n'), nil
}

// Decode reads what Encode wrote, now or in an earlier version, and refuses everything else with
// ErrCorrupt or ErrVersion.
func Decode(src []byte) (Tree, error) {
	if len(src) > EncodedMax {
		return Tree{}, fmt.Errorf("decode arrangement: %d bytes, at most %d: %w", len(src), EncodedMax, ErrCorrupt)
	}
	version, err := strictjson.Version(src, "version")
	if err != nil {
		return Tree{}, fmt.Errorf("decode arrangement: %w: %w", err, ErrCorrupt)
	}
	var read func([]byte) (Tree, error)
	switch version {
	case 1:
		read = readV1
	case 2:
		read = readV2
	case formatVersion, relaunchVersion:
		read = readCurrent
	default:
		return Tree{}, fmt.Errorf("decode arrangement: version %d, want 1 to %d: %w", version, relaunchVersion, ErrVersion)
	}
	t, err := read(src)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return Tree{}, fmt.Errorf("decode arrangement: %w: %w", err, ErrCorrupt)
	}
	return t, nil
}

func readCurrent(src []byte) (Tree, error) { return readAs(src, Tree.version) }

// readAs wants the very bytes that are written for the tree. That refuses what the types cannot tell from
// an absent member: a share of 0, an empty list of tags, a layer spelled out.
func readAs(src []byte, version func(Tree) int) (Tree, error) {
	var e envelope
	if err := strictjson.Unmarshal(src, &e); err != nil {
		return Tree{}, err
	}
	again, err := e.Tree.write(version(e.Tree))
	if err != nil {
		return Tree{}, err
	}
	if !bytes.Equal(src, again) {
		return Tree{}, errors.New("not in the form in which it is written")
	}
	return e.Tree, nil
}
