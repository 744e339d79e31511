#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# export.sh DIR: copies the patches (of GROUP=, else all) to DIR for another queue and prints the lines for its series file.
. "$(dirname "$0")/lib.sh"

dir=${1:-}
[ -n "$dir" ] || die "usage: make export DIR=debian/patches/cache-footprint [GROUP=name]"
patches=$(list_series "${GROUP:-}")
[ -n "$patches" ] || die "the series has no patches${GROUP:+ in group $GROUP}"
mkdir -p "$dir"
for p in $patches; do cp "$QUILT_PATCHES/$p" "$dir/$p"; done
say "$(echo "$patches" | wc -l) patches copied to $dir; lines for the series file:" >&2
for p in $patches; do echo "${dir##*/}/$p"; done
