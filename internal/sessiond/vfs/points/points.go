// SPDX-License-Identifier: Apache-2.0

// Package points gives a store, in a build with the tag "failpoints", a failpoint behind each of its file calls, and in the middle
// of each write, without the store's knowing: the points are named by the calls' operation labels. In an ordinary build it is the
// real file system and nothing else.
package points

// Prefix is before the label in the name of each point: "fs:checkpoint.rename".
const Prefix = "fs:"
