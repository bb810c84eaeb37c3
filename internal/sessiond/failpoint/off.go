// SPDX-License-Identifier: Apache-2.0

//go:build !failpoints || !unix

package failpoint

// Pass does nothing in this build.
func Pass(Point) {}

// Tear does nothing in this build.
func Tear(Point, []byte, func([]byte)) {}
