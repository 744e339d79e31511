#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Removes build/ whole. Stops while build/linux holds edits that are in no patch (FORCE=1 discards them).
. "$(dirname "$0")/lib.sh"
[ -z "${KDIR:-}" ] || die "distclean is about $BUILD; leave KDIR= out"
[ ! -d "$BUILD/linux/.pc" ] || "$ROOT/scripts/unapply.sh"
rm -rf "$BUILD"
