#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# other_version.sh VERSION DIR [LIST]: unpacks to DIR the newest source of a version of
# configs/bases that the Debian mirror has, all of it or the files that LIST names, one a line,
# where they exist. The tarball stays in the cache. Prints the package's version. Exit status 3: it
# cannot be had from the mirror.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/debian.sh"

[ $# -ge 2 ] || die "usage: other_version.sh VERSION DIR [LIST]"
IFS='|' read -r _ where _ <<< "$(grep -E "^$1 *[|]" "$ROOT/configs/bases")"
read -r suite package <<< "${where:-}"
[ -n "${package:-}" ] || die "configs/bases names no package of Linux $1"
CACHE=$CACHE/bases	# apart from the base's own tarball
mkdir -p "$CACHE" "$2"
take_lock "base-$1"
debian_suite_ready "$suite" || exit 3
read -r latest _ <<< "$(debian_has "$package")"
[[ ${latest:-} == "$1".* ]] || { warn "$suite of the mirror has no $package of Linux $1"; exit 3; }
tarball=$CACHE/$package.tar.xz
if [ "$(cat "$tarball.version" 2>/dev/null)" != "$latest" ]; then
	need_space "$CACHE" "${NEED_CACHE_MIB:-700}" "the download of $package"
	rm -f "$tarball.version"
	debian_download "$package=$latest" >/dev/null || exit 3
	inner_tarball "$(echo "$apt/$package"_*.deb)"
	rm -f "$apt/$package"_*.deb
	echo "$latest" > "$tarball.version"
fi
files=()
[ -z "${3:-}" ] || mapfile -t files < <(sed "s|^|$package/|" "$3")
# A file that this version does not have is no failure; a truncated tarball has no Makefile
tar -xf "$tarball" -C "$2" --strip-components=1 "${files[@]}" 2>/dev/null || [ -n "${3:-}" ] ||
	die "could not unpack $tarball: a truncated file, or no space left in $2"
kernel_version "$2" >/dev/null || die "$tarball is no source of Linux $1: remove it"
echo "$latest"
