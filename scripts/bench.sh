#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What is timed, in user space on the real CPU, of GROUP= or of all groups: the tests marked bench, then the tables
# Documentation/results/*/bench.rst. ROUNDS= is for the tables.
. "$(dirname "$0")/lib.sh"

[ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"
where=selftests${GROUP:+/$GROUP}
[ -d "$ROOT/$where" ] || die "there is no $where"
load=$(cut -d' ' -f1 /proc/loadavg)
[ "${load%.*}" = 0 ] || warn "the load average is $load: others take time on this machine"
code=0
if grep -rqs 'pytest\.mark\.bench' --include='*.py' "$ROOT/$where"; then
	"$ROOT/scripts/pytest.sh" bench -m bench "$where" || code=$?
fi
if [ -z "${GROUP:-}" ] || [ -f "$ROOT/$where/bench.py" ]; then
	PYTHONPATH=$ROOT PYTHONDONTWRITEBYTECODE=1 "$VENV/bin/python" -m selftests.bench ${GROUP:+"$GROUP"} --tree "$TREE" \
		${ROUNDS:+--rounds "$ROUNDS"} || code=$?
fi
exit "$code"
