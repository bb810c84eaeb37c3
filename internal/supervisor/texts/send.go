// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"context"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/keys"
)

// Send types a text as it is, keys, or a paste. What keys and pastes send depends on what the program has
// switched on, which is asked right before; a program that changes its mind meanwhile gets what it wanted then.
func Send(ctx context.Context, t Terminal, p verbs.PaneSendParams) (verbs.PaneSendResult, error) {
	typed, err := bytesToSend(ctx, t, p)
	if err == nil {
		err = t.Type(ctx, typed)
	}
	if err != nil {
		return verbs.PaneSendResult{}, err
	}
	return verbs.PaneSendResult{Bytes: len(typed)}, nil
}

func bytesToSend(ctx context.Context, t Terminal, p verbs.PaneSendParams) ([]byte, error) {
	if p.Text != "" {
		return []byte(p.Text), nil
	}
	m, err := modes(ctx, t)
	if err != nil {
		return nil, err
	}
	if p.Paste != "" {
		return keys.Paste(p.Paste, m), nil
	}
	var typed []byte
	for _, name := range p.Keys {
		key, err := keys.Press(name, m)
		if err != nil {
			return nil, verbs.Errorf(verbs.CodeKey, "there is no key %q", name).With("param", "keys")
		}
		typed = append(typed, key...)
	}
	return typed, nil
}

// modes asks what the program in the terminal has switched on.
func modes(ctx context.Context, t Terminal) (keys.Modes, error) {
	shot, err := t.Capture(ctx, wire.CaptureReq{What: wire.CaptureScreen})
	return keys.Modes{ApplicationCursor: shot.Modes.CursorKeys, BracketedPaste: shot.Modes.BracketedPaste}, err
}
