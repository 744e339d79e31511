#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What is timed in user space on the real CPU, of GROUP= or of all groups: the tests marked bench,
# then the tables Documentation/results/*/bench.rst. ROUNDS= is for the tables. SHORT=1: the tables
# alone, in fewer rounds, printed and written to build/results/bench.json (tools/bench/share.py).
. "$(dirname "$0")/lib.sh"

[ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"

# busy: the load average, if it is above 0.5 a CPU
busy() { awk -v cpus="$(nproc)" '$1 > cpus / 2 { print $1; found = 1 } END { exit !found }' /proc/loadavg; }

code=0 only=
while load=$(busy) && [ "$SECONDS" -lt 300 ]; do
	say "the load average is $load, above 0.5 a CPU: waiting for at most 5 minutes"
	sleep 30
done
if [ -n "$load" ]; then
	warn "the load average is $load, above 0.5 a CPU: figures are printed and not kept"
	only=--print-only code=1
fi
if [ -n "${SHORT:-}" ]; then
	[ -z "$only" ] || die "no file is written: wait until the machine is idle"
	[ -z "${ROUNDS:-}" ] || die "SHORT=1 has its own number of rounds"
	# shellcheck disable=SC2086	# a list of names
	exec "$ROOT/tools/python.sh" -m tools.bench ${GROUP:-} --tree "$TREE" \
		--short "$BUILD/results/bench.json"
fi
for name in ${GROUP:-$(cd "$ROOT" && python3 tools/groups.py list | cut -f1)}; do
	where=selftests/$name timed=
	if grep -qs 'pytest\.mark\.bench' "$ROOT/$where"/*.py; then
		timed=yes
		"$ROOT/tools/pytest.sh" "bench-$name" -m bench "$where" || code=$?
	fi
	if compgen -G "$ROOT/$where/bench*.py" >/dev/null; then
		timed=yes
		PYTHONPATH=$ROOT PYTHONDONTWRITEBYTECODE=1 "$VENV/bin/python" -m tools.bench "$name" \
			--tree "$TREE" $only ${ROUNDS:+--rounds "$ROUNDS"} || code=$?
	fi
	[ -n "$timed" ] || [ -z "${GROUP:-}" ] || die "no benchmark of group $name"
done
exit "$code"
