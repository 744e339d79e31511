#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The fast checks of patches and scripts, without a kernel build; those that push and pop the
# series run in parallel with the others. What tests the checks themselves is for make test.
. "$(dirname "$0")/lib.sh"

mkdir -p "$RESULTS"
apply=tools/checks/apply.py
code=0
"$ROOT/tools/run" pytest --part=lint-apply --stage=lint "$apply" > "$RESULTS/lint-apply.log" 2>&1 &
"$ROOT/tools/run" pytest --part=lint --stage=lint --ignore="$apply" || code=$?
wait $! || code=$?
cat "$RESULTS/lint-apply.log"
# Published tables that are not of today's files: printed, no failure
"$ROOT/tools/run" tools.figures || code=$?
exit "$code"
