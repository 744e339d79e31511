#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What is timed in user space on the real CPU, of GROUP= or of all groups: the tests marked bench,
# then the tables Documentation/results/*/bench.rst. ROUNDS= is for the tables.
. "$(dirname "$0")/lib.sh"

[ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"
load=$(cut -d' ' -f1 /proc/loadavg)
[ "${load%.*}" = 0 ] || warn "the load average is $load: others take time on this machine"
code=0
for name in ${GROUP:-$(cd "$ROOT" && python3 selftests/groups.py list | cut -f1)}; do
	where=selftests/$name timed=
	if grep -qs 'pytest\.mark\.bench' "$ROOT/$where"/*.py; then
		timed=yes
		"$ROOT/scripts/pytest.sh" "bench-$name" -m bench "$where" || code=$?
	fi
	if [ -f "$ROOT/$where/bench.py" ]; then
		timed=yes
		PYTHONPATH=$ROOT PYTHONDONTWRITEBYTECODE=1 "$VENV/bin/python" -m selftests.bench "$name" \
			--tree "$TREE" ${ROUNDS:+--rounds "$ROUNDS"} || code=$?
	fi
	[ -n "$timed" ] || [ -z "${GROUP:-}" ] || die "no benchmark of group $name"
done
exit "$code"
