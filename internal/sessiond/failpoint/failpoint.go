// SPDX-License-Identifier: Apache-2.0

// Package failpoint names the places in the life of a worker and of spawnd at which a test may end that process.
//
// In an ordinary build Pass and Tear are empty and leave nothing in the binary. Built with the tag "failpoints" they count, and
// the process kills itself with SIGKILL at the point that the environment names:
//
//	SPAWN_FAILPOINT=log.sealed     where to die, at the first passage
//	SPAWN_FAILPOINT=log.sealed#3   likewise, at the third
//	SPAWN_FAILPOINT_STOP=1         stop there instead, with SIGSTOP; whoever continues it lets it live on
//	SPAWN_FAILPOINT_LOG=/path      a file to which each passage adds its name, one a line
package failpoint

// Point names one place.
type Point string
