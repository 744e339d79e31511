#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Pushes the series onto a kernel tree with quilt, fuzz 0, all or nothing.
#   KDIR=tree     the tree (default build/linux)
#   GROUP=name    the preparations and this one group only
#   FORCE=1       another kernel version than the base's VERSION.PATCHLEVEL
# The originals of all touched files wait in KDIR/.cache-footprint.undo while quilt works: a failure, Ctrl-C, a full
# disk, even a power cut is rolled back, at once or by the next run.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tree.sh
. "$ROOT/scripts/tree.sh"
# shellcheck source=../configs/kernel.pin
. "$PIN"

GROUP=${GROUP:-}

check_tree() {
	local found
	found=$(kernel_version "$TREE") || die "$TREE is not a Linux source tree"
	[ "${found%.*}" = "${version%.*}" ] || [ "${FORCE:-0}" = 1 ] ||
		die "$TREE is Linux $found, the series is for ${version%.*} (FORCE=1 to try it all the same)"
	[ -w "$TREE" ] || die "$TREE cannot be written to"
	foreign_queue && die "$TREE has a patch queue of its own (.pc or patches): make export DIR=... copies the series for it"
	return 0
}

# The same push on copies of the touched files first: a patch that does not apply never touches the tree
rehearse() {
	local scratch=$1 output line
	copy_unpatched "$scratch"
	if ! output=$(cd "$scratch" && quilt_push 2>&1); then
		line=$(printf '%s\n' "$output" | grep -oE 'Patch [^ ]+ (does not apply|can be reverse-applied|appears to be empty)' | tail -1) ||
			line=$(printf '%s\n' "$output" | tail -1)
		die "$line; $TREE is as it was. $(printf '%s\n' "$output" | grep -E 'FAILED|malformed' | head -3 | xargs || true)"
	fi
	printf '%s\n' "$output" | grep -E 'offset' || true
}

command -v quilt >/dev/null 2>&1 || die "quilt is not installed: make tools"
list_series "$GROUP" >/dev/null
take_lock apply
recover
check_tree
hash=$(series_hash "$GROUP")
if [ "$(applied_hash)" = "$hash" ]; then
	say "$TREE has the series already (${GROUP:+group $GROUP, }$hash)"
	exit 0
fi
write_series "$GROUP"
scratch=$(mktemp -d "$BUILD/.rehearsal.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
[ ! -s "$SERIES_FILE" ] || rehearse "$scratch"
rm -rf "$scratch"
trap - EXIT
before=
state="as it was"
if [ -n "$(applied_patches)" ]; then
	before=$(sed -n 's/^sum [0-9a-f]* *//p' "$RECORD" 2>/dev/null | times) || before=
	APPLY_HOLDS_LOCK=1 "$ROOT/scripts/unapply.sh"
	state="without the series"
fi
if [ ! -s "$SERIES_FILE" ]; then
	say "the series has no patches${GROUP:+ in group $GROUP}; nothing to do"
	exit 0
fi

save_originals
trap 'trap "" INT TERM; roll_back; warn "stopped; $TREE is $state"' EXIT
trap 'exit 130' INT TERM
(cd "$TREE" && quilt_push) > "$BUILD/push.log" 2>&1 || die "quilt push failed: $(tail -1 "$BUILD/push.log")"
keep_times <<< "$before"
record_applied "$hash"
trap - EXIT INT TERM
say "$(wc -l < "$SERIES_FILE") patches pushed onto $TREE (${GROUP:+group $GROUP, }$hash)"
