#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts each known bug into a copy of the tree and wants its test to fail; one line for each. Names pick some.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./tools/seeded "$@"
