#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Builds the kselftest targets of the groups (selftests/GROUP/kselftests) and installs them: those of
# the pushed groups to build/out/vm/kselftest, or, with KDIR=tree, all that this tree has to
# OUT=dir (default build/out/kselftest). No kernel is built, and KDIR is not written to.
. "$(dirname "$0")/lib.sh"

targets=$(python3 "$ROOT/tools/groups.py" targets "$TREE" ${KDIR:+all})
where=$KERNELS/vm/kselftest
if [ -n "${KDIR:-}" ]; then
	kernel_version "$TREE" >/dev/null || die "$TREE is not a Linux source tree"
	[ -n "$targets" ] || die "$TREE has no kselftest of the series: make apply KDIR= pushes it"
	where=$(realpath -ms -- "${OUT:-$KERNELS/kselftest}")
fi
log=$where.log
take_lock kselftests
rm -rf "$where"
[ -n "$targets" ] || { say "no group on $TREE has a kselftest"; exit 0; }
mkdir -p "$where.build"
make -C "$TREE/tools/testing/selftests" O="$where.build" TARGETS="$targets" SKIP_TARGETS= \
	USERCFLAGS="-ffile-prefix-map=$TREE=." INSTALL_PATH="$where" FORCE_TARGETS=1 install \
	> "$log" 2>&1 || die "the kselftests do not build; see $log"
# quilt does not carry the bit
find "$where" -name '*.sh' -exec chmod +x {} +
grep -i warning "$log" >&2 || true
say "kselftests installed in $where: $targets"
