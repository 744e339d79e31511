#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Says what disk and memory the work needs; stops before any download when the disk is too small
. "$(dirname "$0")/lib.sh"

BUILD_MIB=${NEED_BUILD_MIB:-8000}	# tree, build directories, copies for the checks
CACHE_MIB=${NEED_CACHE_MIB:-6000}	# tarball, ccache, identity/
MEMORY_MIB=3000				# linking the kernel while a VM runs of 1 GiB

[ "$(uname -m)" = x86_64 ] ||
	die "this machine is $(uname -m); the series is built and tested on x86_64"
if [ ! -d "$TREE/arch" ]; then
	say "needs $BUILD_MIB MiB in $BUILD, $CACHE_MIB MiB in $CACHE, $MEMORY_MIB MiB of memory"
	need_space "$BUILD" "$BUILD_MIB" "the build"
	need_space "$CACHE" "$CACHE_MIB" "the cache"
fi
memory=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
[ "$memory" -ge "$MEMORY_MIB" ] ||
	warn "only $memory MiB of memory are available, $MEMORY_MIB are wanted: it will be slow"
