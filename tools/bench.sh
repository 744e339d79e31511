#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What is timed in user space on the real CPU, of GROUP= or of all groups: the tables
# Documentation/results/*/bench*.csv, in ROUNDS= rounds. SHORT=1: in fewer rounds, printed and
# written to build/results/bench.json (tools/figures/share.py).
. "$(dirname "$0")/lib.sh"

# busy: the load average, if it is above 0.5 a CPU
busy() {
	awk -v cpus="$(nproc)" '$1 > cpus / 2 { print $1; found = 1 } END { exit !found }' /proc/loadavg
}

code=0
words=(--tree "$TREE")
while load=$(busy) && [ "$SECONDS" -lt 300 ]; do
	say "the load average is $load, above 0.5 a CPU: waiting for at most 5 minutes"
	sleep 30
done
if [ -n "$load" ]; then
	[ -z "${SHORT:-}" ] ||
		die "the load average is $load: no file is written, wait until the machine is idle"
	warn "the load average is $load, above 0.5 a CPU: figures are printed and not kept"
	words+=(--print-only) code=1
fi
if [ -n "${SHORT:-}" ]; then
	words+=(--short "$BUILD/results/bench.json")
fi
[ -z "${ROUNDS:-}" ] || words+=(--rounds "$ROUNDS")
# shellcheck disable=SC2086	# a list of names
"$ROOT/tools/run" tools.figures.bench ${GROUP:-} "${words[@]}" || code=$?
exit "$code"
