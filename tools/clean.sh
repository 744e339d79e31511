#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Removes what the builds and tests made in build/. With `all`: build/ whole, the kernel tree too;
# stops while a patched file there has edits that are in no patch (DISCARD=1 discards them).
. "$(dirname "$0")/lib.sh"
[ -z "${KDIR:-}" ] || die "clean is about $BUILD; leave KDIR= out"
if [ "${1:-}" != all ]; then
	rm -rf "$BUILD"/{out,results,steps,cachemodel,mutants,storm,docs,kernel-docs} \
		"$BUILD"/{group,kunit}-*
	exit 0
fi
[ -d "$BUILD" ] || exit 0
[ -f "$BUILD/linux.base" ] || [ -d "$BUILD/venv" ] ||
	die "$BUILD was not made by this project: it is left alone"
[ ! -s "$BUILD/linux/.pc/applied-patches" ] || GROUP="" "$ROOT/tools/run" tools.tree.apply unapply
rm -rf "$BUILD"
