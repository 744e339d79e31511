#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Builds the kselftest targets of the pushed groups (selftests/GROUP/kselftests) and installs them
# to build/out/vm/kselftest.
. "$(dirname "$0")/lib.sh"

targets=$(python3 "$ROOT/selftests/groups.py" targets "$TREE")
out=$KERNELS/vm
log=$out/kselftest.log
mkdir -p "$out"
take_lock kselftests
rm -rf "$out/kselftest"
[ -n "$targets" ] || { say "no group on $TREE has a kselftest"; exit 0; }
mkdir -p "$out/kselftest.build"
make -C "$TREE/tools/testing/selftests" O="$out/kselftest.build" TARGETS="$targets" SKIP_TARGETS= \
	USERCFLAGS="-ffile-prefix-map=$TREE=." INSTALL_PATH="$out/kselftest" FORCE_TARGETS=1 install \
	> "$log" 2>&1 || die "the kselftests do not build; see $log"
grep -i warning "$log" >&2 || true
say "kselftests installed: $targets"
