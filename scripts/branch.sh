#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# branch.sh TREE: the series as commits on a new branch of the clean git tree TREE, by git quiltimport. A failure or
# Ctrl-C puts the tree back on the branch it was on.
. "$(dirname "$0")/lib.sh"

tree=${1:-}
[ -n "$tree" ] || die "usage: make branch KDIR=git-tree"
kernel_version "$tree" >/dev/null || die "$tree is not a Linux source tree"
git -C "$tree" rev-parse --git-dir >/dev/null 2>&1 || die "$tree is not a git tree"
[ -z "$(git -C "$tree" status --porcelain --untracked-files=no)" ] || die "$tree has uncommitted changes"
branch=cache-footprint/$(series_hash)
! git -C "$tree" show-ref --quiet "refs/heads/$branch" || die "$tree has the branch $branch already"
before=$(git -C "$tree" symbolic-ref --quiet --short HEAD || git -C "$tree" rev-parse HEAD)
log=$(mktemp)

undo() {
	rm -f "$log"
	git -C "$tree" reset -q --hard
	git -C "$tree" checkout -q "$before"
	git -C "$tree" branch -q -D "$branch"
}
git -C "$tree" checkout -q -b "$branch"
trap undo EXIT
trap 'exit 130' INT TERM
git -C "$tree" quiltimport --patches "$QUILT_PATCHES" --series "$QUILT_PATCHES/series" > "$log" 2>&1 ||
	die "git quiltimport failed: $(grep -iE 'error|fatal' "$log" | head -1 || tail -1 "$log"); $tree is as it was"
trap - EXIT
rm -f "$log"
say "branch $branch in $tree: $(git -C "$tree" rev-list --count "$before..$branch") commits"
