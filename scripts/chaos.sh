#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fault matrix and prints one line for each class of faults. The whole log is in test-output/chaos.log.
# SIZE=gate|long says how many runs; SEED replays one. What is promised in time is held to the promise when long, so that wants
# a machine that does nothing else; internal/e2e/chaos/main_test.go tells what the gate leaves out.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p test-output
log=test-output/chaos.log
export SPAWN_CHAOS="${SIZE:-long}" SPAWN_SEED="${SEED:-}"
if ! go test -race -count=1 -timeout 600m -p 1 -v -run "${RUN:-^TestF[0-9]|Points|Share|Interleaving|Swapped|Reclaim|FoughtFor}" \
  ./internal/e2e/... ./internal/sessiond ./internal/sessiond/endpoint 2>&1 |
    tee "$log" | grep --line-buffered '^chaos:'; then
  grep -B 40 -- '--- FAIL' "$log" | grep -v '^=== ' >&2 || tail -n 40 "$log" >&2
  echo "a fault was not survived; the seed in its line draws it again: make chaos SIZE=$SPAWN_CHAOS SEED=..." >&2
  echo "if it shows again, keep it: internal/chance/testdata/kept.txt" >&2
  exit 1
fi
