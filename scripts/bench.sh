#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What is timed, in user space on the real CPU.
. "$(dirname "$0")/lib.sh"

load=$(cut -d' ' -f1 /proc/loadavg)
[ "${load%.*}" = 0 ] || warn "the load average is $load: others take time on this machine"
exec "$ROOT/scripts/pytest.sh" bench -m bench selftests
