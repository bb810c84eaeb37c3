#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target for the given time (default 30s).
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' internal | xargs -r -n1 dirname | sort -u | while read -r dir; do
  grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | awk '{print $2}' | while read -r target; do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}" "./$dir"
  done
done
