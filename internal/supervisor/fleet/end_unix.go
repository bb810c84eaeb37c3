// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package fleet

import "os/exec"

// watchEnd knows no way to wait for a child without a thread here: the wait itself is what waits.
func watchEnd(*exec.Cmd) (await func()) { return func() {} }
