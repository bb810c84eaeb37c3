// SPDX-License-Identifier: Apache-2.0

// Package docs holds the documents that spawnd prints.
package docs

import _ "embed"

// Agents is how programs use terminals.
//
//go:embed agents.md
var Agents string
