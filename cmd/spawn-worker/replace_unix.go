// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package main

import "golang.org/x/sys/unix"

// replace makes descriptor to a copy of from.
func replace(from, to int) error { return unix.Dup2(from, to) }
