// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package fleet

// keepToOurselves has no call to make here: no worker can be started yet.
func keepToOurselves() {}
