#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The series for those who want no repository: build/dist/cache-footprint-HASH.tar.gz has series,
# patches/ with the covers, COPYING and CHANGES of the last commit, for quilt push -a; beside it is
# its SHA-256. HASH is the hash of the series that make apply prints.
. "$(dirname "$0")/../lib.sh"

files=(series patches COPYING CHANGES)
changed=$(git -C "$ROOT" status --porcelain -- "${files[@]}" 2>/dev/null) ||
	die "$ROOT is not a git repository: the tarball is made from a commit"
[ -z "$changed" ] ||
	die "commit first: $(wc -l <<< "$changed") changed files, such as ${changed:3:60}"
name=cache-footprint-$(series_hash)
mkdir -p "$BUILD/dist"
rm -f "$BUILD/dist/.new"
git -C "$ROOT" archive --format=tar.gz --prefix="$name/" -o "$BUILD/dist/.new" HEAD -- "${files[@]}"
mv "$BUILD/dist/.new" "$BUILD/dist/$name.tar.gz"
(cd "$BUILD/dist" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
say "$BUILD/dist/$name.tar.gz"
