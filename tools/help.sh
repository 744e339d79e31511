#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Prints the targets of the Makefile and the groups of the series, a line each;
# with JOB=list the slow jobs.
set -euo pipefail
cd "$(dirname "$0")/.."
unset GROUP
if [ "${JOB:-}" = list ]; then
	printf 'Slow jobs, for make test-full JOB=name, with estimated minutes on two idle cores\n\n'
	tools/run tools.jobs list | awk -F'\t' '{printf "  %-21s %3d  %s\n", $1, $2, $3}'
	exit
fi
echo "usage: make [target] [VARIABLE=value]        (two are enough: make, then make test)"
echo
sed -n -E 's/^([a-z-]+):.* ## (.*)/\1\t\2/p' Makefile | sed 's/^all\t/(none)\t/' |
	awk -F'\t' '{printf "  %-17s %s\n", $1, $2}'
if command -v python3 >/dev/null; then
	printf '\nGroups, for GROUP=name or GROUP="a b" with (none), apply, kernel, boot, test, export\n\n'
	tools/run tools.groups list | awk -F'\t' '{printf "  %-17s %s\n", $1, $2}'
fi
cat <<'END'

  BUILD=dir   where to work (default build)      CACHE=dir   for downloads and verdicts
  INSTALL=0   never install packages             LINUX_SHA256=  the sum of LINUX_TARBALL=
  JOBS=n      compile jobs (default: all CPUs)   CC=, LLVM=, HOSTCC=, KBUILD_BUILD_TIMESTAMP=
  FRESH=1     prove again what passed before     KVM=1       use KVM instead of QEMU's TCG
END
