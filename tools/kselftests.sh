#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Builds the kselftest targets of the groups (selftests/GROUP/group.toml) and installs them: those
# of the pushed groups to build/out/vm/kselftest, or, with KDIR=tree, all that this tree has to
# OUT=dir (default build/out/kselftest). No kernel is built, and KDIR is not written to. OUT= is
# replaced when all is built, if it is an empty directory or one that this script made.
. "$(dirname "$0")/lib.sh"

die_unless_ours() {
	[ ! -e "$1" ] || [ -f "$1/.cache-footprint" ] || { [ -d "$1" ] && [ -z "$(ls -A "$1")" ]; } ||
		die "$1 exists and is not from an earlier run: OUT= takes a new or an empty directory"
}

[ -n "${KDIR:-}" ] || [ -z "${OUT:-}" ] || die "OUT= is for KDIR=tree"
targets=$("$ROOT/tools/run" tools.groups targets "$TREE" ${KDIR:+all})
where=$KERNELS/vm/kselftest
work=$where.build
if [ -n "${KDIR:-}" ]; then
	kernel_version "$TREE" >/dev/null || die "$TREE is not a Linux source tree"
	[ -n "$targets" ] || die "$TREE has no kselftest of the series: make apply KDIR= pushes it"
	where=$(realpath -m -- "${OUT:-$KERNELS/kselftest}")
	[ -z "${OUT:-}" ] || die_unless_ours "$where"
	mkdir -p "${where%/*}"
	work=$(mktemp -d "$where.XXXXXX")
	trap 'rm -rf "$work"' EXIT
fi
[[ $TREE$where != *[[:space:]]* ]] || die "kbuild takes no path with a space: $TREE, $where"
take_lock kselftests
[ -n "$targets" ] || { rm -rf "$where"; say "no group on $TREE has a kselftest"; exit 0; }
mkdir -p "$work"
log=$BUILD/kselftests.log
rm -rf "$work/install"
make -C "$TREE/tools/testing/selftests" O="$work" TARGETS="$targets" SKIP_TARGETS= \
	USERCFLAGS="-ffile-prefix-map=$TREE=." INSTALL_PATH="$work/install" FORCE_TARGETS=1 install \
	> "$log" 2>&1 || die "the kselftests do not build; see $log"
# quilt does not carry the bit
find "$work/install" -name '*.sh' -exec chmod +x {} +
touch "$work/install/.cache-footprint"
rm -rf "$where"
mv -T "$work/install" "$where"
grep -i warning "$log" >&2 || true
say "kselftests installed in $where: $targets"
