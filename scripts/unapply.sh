#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Pops the series off a kernel tree (KDIR=, default build/linux). Edits that are in no patch are never thrown away:
# then it stops and says so (FORCE=1 discards them).
. "$(dirname "$0")/lib.sh"
# shellcheck source=tree.sh
. "$ROOT/scripts/tree.sh"

kernel_version "$TREE" >/dev/null || die "$TREE is not a Linux source tree"
[ "${APPLY_HOLDS_LOCK:-0}" = 1 ] || take_lock apply
recover
foreign_queue && die "$TREE has a patch queue of its own; this series is not on it"
if [ -z "$(applied_patches)" ]; then
	say "$TREE has no patch of this series"
	exit 0
fi
if touched_as_recorded || [ "${FORCE:-0}" = 1 ]; then
	pop=(-a -f)	# the patch files may have changed since the push: quilt's backups are the truth
else
	pop=(-a)
fi
output=$(cd "$TREE" && quilt pop "${pop[@]}" 2>&1) ||
	die "$TREE has edits that are in no patch ($(printf '%s\n' "$output" | grep -oE 'Patch [^ ]+ does not remove cleanly|File [^ ]+ .*' | head -1)): quilt refresh keeps them, FORCE=1 discards them; $(wc -l < "$TREE/.pc/applied-patches") patches are still on it"
rm -rf "$TREE/.pc"
say "the series is off $TREE"
