// SPDX-License-Identifier: Apache-2.0

// Package version names the build.
package version

// Version is set by the linker; a plain `go build` says "dev".
var Version = "dev"
