// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package secret

// Harden allows no core file. Whether another process of the same user may read this one's
// memory is up to the system: on macOS that takes an entitlement or root.
func Harden() error { return limitCore() }
