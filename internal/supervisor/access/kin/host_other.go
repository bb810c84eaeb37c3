// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package kin

import "net"

// Recognise is Unsure of everybody: nothing here tells a process of a pane from one outside. People use
// access.OwnerWord.
func Recognise(*net.UnixConn, Options) Place { return evidence{found: stranger}.decide() }
