// SPDX-License-Identifier: Apache-2.0

// Package web carries the built page inside the binary.
package web

import (
	"embed"
	"io/fs"
)

// dist is the output of `npm run build`. It is committed, so that the binary
// builds with Go alone.
//
//go:embed all:dist
var dist embed.FS

// Dist returns the built page: index.html at the top, hashed files below
// assets/. The names are fixed at build time, so it cannot fail.
func Dist() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: internal error: " + err.Error())
	}
	return sub
}
