#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Finds the base kernel, verifies it, caches it and unpacks it to build/linux. Looks, in order, at
#   KDIR=dir            a tree that the user names (used in place, never unpacked over)
#   LINUX_TARBALL=file  a tarball or Debian package (LINUX_SHA256= when it is not the pinned one)
#   the cache           $XDG_CACHE_HOME/cache-footprint
#   the pin's package   configs/kernel.pin: a Debian package from the machine's own mirror
#                       (DEBIAN_MIRROR= names another)
#   a newer release     of the same VERSION.PATCHLEVEL from that mirror, if the series applies to it
# What the pin names must have its recorded SHA-256 sum. An interrupted run leaves nothing that the
# next one would take for whole.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/debian.sh"
# shellcheck source=../../configs/kernel.pin
. "$PIN"
# shellcheck disable=SC2154	# pinned is the pin's
read -r suite package release name sum <<< "$pinned"
STAMP=$BUILD/linux.base
work=
newer=	# the version of a newer release that takes the pinned one's place

cleanup() { [ -z "$work" ] || rm -rf "$work"; }
trap cleanup EXIT
trap 'warn "interrupted; run it again to continue"; exit 130' INT TERM

# check_version DIR: DIR must hold a kernel of the pinned VERSION.PATCHLEVEL, or FORCE=1
check_version() { KDIR=$1 "$ROOT/tools/run" tools.tree.apply check; }

# known SUM: whether this is the pinned sum, or LINUX_SHA256=
known() { [ "$1" = "$sum" ] || [ "$1" = "${LINUX_SHA256:-none}" ]; }

# warn_newer: whatever is built on a newer base is not of the pinned one
warn_newer() {
	warn "the base is $newer_package $newer, not the pinned Linux $version: results name it"
}

named_tarball() {
	[ -f "$LINUX_TARBALL" ] || die "LINUX_TARBALL=$LINUX_TARBALL: no such file"
	case $LINUX_TARBALL in
	*.deb) inner_tarball "$LINUX_TARBALL" ;;
	*)     tarball=$LINUX_TARBALL ;;
	esac
	known "$(sha256 "$tarball")" ||
		die "LINUX_TARBALL=$LINUX_TARBALL does not have a pinned SHA-256 sum:" \
			"truncated, altered or another version (LINUX_SHA256= names its sum)"
}

cached_tarball() {
	tarball=$CACHE/$name
	[ -f "$tarball" ] || return 1
	[ "$(sha256 "$tarball")" != "$sum" ] || return 0
	# A newer release has the same name in Debian
	[ "$(cat "$tarball.newer" 2>/dev/null)" != "$(sha256 "$tarball")" ] || return 1
	warn "the cached $name does not have its pinned SHA-256 sum" \
		"(truncated or altered): fetching it again"
	rm -f "$tarball"
	return 1
}

# take_deb PACKAGE VERSION: sets tarball, out of a package of the suite that is ready
take_deb() {
	debian_download "$1=$2" || return 1
	inner_tarball "$(echo "$apt/$1"_*.deb)"
	rm -f "$apt/$1"_*.deb
}

# pinned_tarball: sets tarball, out of the pin's package; what comes with another sum is removed
pinned_tarball() {
	local apt apt_options have
	debian_suite_ready "$suite" || return 1
	have=$(debian_has "$package")
	[[ " $have " == *" $release "* ]] ||
		{ warn "$suite of the mirror has no $package $release (it has: ${have:-none})"; return 1; }
	say "downloading $package $release by apt"
	take_deb "$package" "$release" || return 1
	[ "$(sha256 "$tarball")" != "$sum" ] || return 0
	rm -f "$tarball"
	die "${tarball##*/} came with another SHA-256 sum than the pinned one; it was removed"
}

# newer_tarball: the latest release of the same VERSION.PATCHLEVEL that the mirror has
newer_tarball() {
	local suite apt apt_options latest
	for suite in "${newer_suites[@]}"; do
		debian_suite_ready "$suite" || continue
		read -r latest _ <<< "$(debian_has "$newer_package")"
		[[ $latest == "${version%.*}".* ]] || continue
		warn "the mirror has Linux $version no more: trying $newer_package $latest of $suite"
		take_deb "$newer_package" "$latest" || continue
		sha256 "$tarball" > "$tarball.newer"
		newer=$latest
		return
	done
	return 1
}

# rehearse TREE: stops unless the series applies to the tree, which is as it was afterwards
rehearse() {
	local command log=$work/rehearsal.log
	for command in apply unapply; do
		GROUP="" KDIR=$1 "$ROOT/tools/run" tools.tree.apply "$command" >> "$log" 2>&1 ||
			die "Linux $newer is all that the mirror has, and the series does not apply to it:" \
				"$(grep -m 1 error: "$log"). LINUX_TARBALL=file names Linux $version"
	done
}

unpack() {
	need_space "$BUILD" "${NEED_TREE_MIB:-2500}" "the kernel tree"
	rm -rf "$BUILD"/.unpack.*
	work=$(mktemp -d "$BUILD/.unpack.XXXXXX")
	say "unpacking ${tarball##*/} to $BUILD/linux"
	mkdir "$work/tree"
	tar -xf "$tarball" -C "$work/tree" --strip-components=1 --checkpoint=30000 \
		--checkpoint-action=echo='  %{}T' 2> >(grep -v '^$' | sed 's/^tar: //' >&2) ||
		die "could not unpack $tarball: a truncated file, or no space left in $BUILD"
	check_version "$work/tree"
	[ -z "$newer" ] || rehearse "$work/tree"
	mv -T "$work/tree" "$BUILD/linux"
	{ kernel_version "$BUILD/linux"; sha256 "$tarball"; echo "$newer"; } > "$STAMP.new"
	mv "$STAMP.new" "$STAMP"
	[ -z "$newer" ] || warn_newer
}

# check_unpacked: the tree of an earlier run must be what would be unpacked now
check_unpacked() {
	local unpacked
	[ -f "$STAMP" ] ||
		die "$BUILD/linux was not unpacked by this script; move it away or name it as KDIR="
	check_version "$BUILD/linux"
	{ read -r _; read -r unpacked; read -r newer; } < "$STAMP" || true
	if [ -n "${LINUX_TARBALL:-}" ]; then
		named_tarball
		[ "$(sha256 "$tarball")" = "$unpacked" ] || die "$BUILD/linux comes from another tarball" \
			"than $LINUX_TARBALL: make distclean first"
	fi
	if [ -n "$newer" ]; then
		warn_newer
	elif ! known "$unpacked"; then
		die "$BUILD/linux is not the base that configs/kernel.pin pins now:" \
			"make distclean first, or KDIR= keeps it"
	fi
}

if [ -n "${KDIR:-}" ]; then
	check_version "$KDIR"
	exit 0
fi
mkdir -p "$BUILD" "$CACHE"
take_lock base
if [ -d "$BUILD/linux" ]; then
	check_unpacked
	exit 0
fi
if [ -n "${LINUX_TARBALL:-}" ]; then
	named_tarball
else
	need_space "$CACHE" "${NEED_CACHE_MIB:-700}" "the download"
	cached_tarball || pinned_tarball || newer_tarball || die "no base kernel $version to be had:" \
		"no network? LINUX_TARBALL=file or KDIR=tree names one"
fi
unpack
