#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What is timed, in user space on the real CPU: immediate values' verdicts, then the tables of copies
# and of coloured tasks (bench-nontemporal.rst, bench-usercopy.rst, bench-colouring.rst in Documentation/results).
# ROUNDS= is for the tables.
. "$(dirname "$0")/lib.sh"

[ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"
load=$(cut -d' ' -f1 /proc/loadavg)
[ "${load%.*}" = 0 ] || warn "the load average is $load: others take time on this machine"
code=0
"$ROOT/scripts/pytest.sh" bench -m bench selftests || code=$?
for program in bench copies tasks; do
	"$VENV/bin/python" "$ROOT/selftests/bench/$program.py" run --tree "$TREE" ${ROUNDS:+--rounds "$ROUNDS"} || code=$?
done
exit "$code"
