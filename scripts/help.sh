#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Prints the targets of the Makefile with their one-line descriptions.
set -euo pipefail
echo "usage: make [target] [VARIABLE=value]        (two are enough: make, then make test)"
echo
sed -n -E 's/^([a-z-]+):.* ## (.*)/\1\t\2/p' "$1" | awk -F'\t' '{printf "  %-14s %s\n", ($1 == "all" ? "(none)" : $1), $2}'
cat <<'END'

  BUILD=dir   where to work (default build)           CACHE=dir  downloads (default $XDG_CACHE_HOME/cache-footprint)
  INSTALL=0   never install packages                KERNEL_MIRROR=, LINUX_SHA256=  the way to kernel.org
  JOBS=n      compile jobs (default: all CPUs)        CC=, LLVM=, HOSTCC=, KBUILD_BUILD_TIMESTAMP= as for the kernel
END
