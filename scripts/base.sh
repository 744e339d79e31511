#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Finds the base kernel, verifies it, caches it and unpacks it to build/linux. Looks, in this order, at
#   KDIR=dir                a tree that the user names (used in place, never unpacked over)
#   LINUX_TARBALL=file      a tarball or Debian package that the user names (LINUX_SHA256= when it is not the pinned one)
#   the cache               $XDG_CACHE_HOME/cache-footprint
#   Debian's linux-source   by apt, from the machine's own configured Debian mirror
#   kernel.org              KERNEL_MIRROR= names another place (file:// too); refused without a checksum
# An interrupted run leaves nothing that the next one would take for whole.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/debian.sh"
# shellcheck source=../configs/base
. "$PIN"
KERNEL_MIRROR=${KERNEL_MIRROR:-https://cdn.kernel.org/pub/linux/kernel}
kernelorg_sha256=${LINUX_SHA256:-$kernelorg_sha256}
STAMP=$BUILD/linux.base
work=

# Ctrl-C during a download or the unpacking: one line, and the half-made directory goes.
# What a download has so far stays in the cache, for the next run to go on with.
cleanup() { [ -z "$work" ] || rm -rf "$work"; }
trap cleanup EXIT
trap 'warn "interrupted; run it again to continue"; exit 130' INT TERM

# check_version DIR: DIR must hold a kernel of the pinned VERSION.PATCHLEVEL
check_version() {
	local found
	found=$(kernel_version "$1") || die "$1 is not a Linux source tree"
	[ "${found%.*}" = "${version%.*}" ] || [ "${FORCE:-0}" = 1 ] ||
		die "$1 holds Linux $found, the series is for ${version%.*} (FORCE=1 to use it all the same)"
}

# verified FILE SUM...: whether FILE has one of the sums
verified() {
	local file=$1 have sum
	shift
	have=$(sha256 "$file")
	for sum; do [ "$have" = "$sum" ] && return; done
	return 1
}

named_tarball() {
	local file=$LINUX_TARBALL
	[ -f "$file" ] || die "LINUX_TARBALL=$file: no such file"
	verified "$file" "$debian_deb_sha256" "$debian_tarball_sha256" "$kernelorg_sha256" || [ "${FORCE:-0}" = 1 ] ||
		die "LINUX_TARBALL=$file does not have a pinned SHA-256 sum: truncated, altered or another version (LINUX_SHA256= names its sum)"
	tarball=$file
}

cached_tarball() {
	local file
	for file in "$CACHE/$debian_tarball:$debian_tarball_sha256" "$CACHE/${kernelorg_path##*/}:$kernelorg_sha256"; do
		tarball=${file%:*}
		if [ -z "${file##*:}" ] || [ ! -f "$tarball" ]; then continue; fi
		verified "$tarball" "${file##*:}" && return
		warn "the cached ${tarball##*/} does not have its pinned SHA-256 sum (truncated or altered): fetching it again"
		rm -f "$tarball"
	done
	return 1
}

# The Debian package, by apt
debian_tarball() {
	local apt apt_options have
	[ -n "$debian_package" ] || return 1
	debian_suite_ready "$debian_suite" || return 1
	have=$(debian_has "$debian_package")
	case " $have " in
	*" $debian_version "*) ;;
	*) warn "the mirror no longer has $debian_package $debian_version (it has: ${have:-none}); LINUX_TARBALL= can name a copy"; return 1 ;;
	esac
	say "downloading $debian_package $debian_version by apt"
	debian_download "$debian_package=$debian_version" || return 1
	local deb=("$apt/$debian_package"_*.deb)
	verified "${deb[0]}" "$debian_deb_sha256" ||
		{ rm -f "${deb[@]}"; die "$debian_package $debian_version came with another SHA-256 sum than the pinned one"; }
	tarball=$CACHE/$debian_tarball
	tarball_of_deb "${deb[0]}" > "$tarball.part" || die "could not take the tarball out of ${deb[0]}"
	mv "$tarball.part" "$tarball"
	rm -f "${deb[@]}"
}

# tarball_of_deb DEB: the source tarball inside a linux-source package, on standard output
tarball_of_deb() { dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/$debian_tarball"; }

# kernel.org's tarball. Tested against a local directory only (KERNEL_MIRROR=file://...).
kernelorg_tarball() {
	local part
	[ -n "$kernelorg_sha256" ] || { warn "kernel.org's tarball is not taken without a checksum: set LINUX_SHA256="; return 1; }
	tarball=$CACHE/${kernelorg_path##*/}
	part=$tarball.part
	say "downloading $KERNEL_MIRROR/$kernelorg_path"
	curl --fail --location --continue-at - --show-error --silent --output "$part" "$KERNEL_MIRROR/$kernelorg_path" ||
		{ warn "the download failed"; return 1; }
	verified "$part" "$kernelorg_sha256" ||
		{ rm -f "$part"; die "${tarball##*/} came with another SHA-256 sum than the pinned one; it was removed"; }
	mv "$part" "$tarball"
}

unpack() {
	local source
	need_space "$BUILD" "${NEED_TREE_MIB:-2500}" "the kernel tree"
	rm -rf "$BUILD"/.unpack.*
	work=$(mktemp -d "$BUILD/.unpack.XXXXXX")
	say "unpacking ${tarball##*/} to $BUILD/linux"
	case $tarball in
	*.deb) tarball_of_deb "$tarball" > "$work/source.tar.xz" || die "could not take the tarball out of $tarball"
	       source=$work/source.tar.xz ;;
	*)     source=$tarball ;;
	esac
	mkdir "$work/tree"
	tar -xf "$source" -C "$work/tree" --strip-components=1 --checkpoint=30000 --checkpoint-action=echo='  %{}T' 2> >(grep -v '^$' | sed 's/^tar: //' >&2) ||
		die "could not unpack $tarball: a truncated file, or no space left in $BUILD"
	check_version "$work/tree"
	mv -T "$work/tree" "$BUILD/linux"
	{ kernel_version "$BUILD/linux"; sha256 "$tarball"; } > "$STAMP"
	rm -rf "$work"
	work=
}

if [ -n "${KDIR:-}" ]; then
	check_version "$KDIR"
	exit 0
fi
mkdir -p "$BUILD" "$CACHE"
take_lock base
if [ -d "$BUILD/linux" ]; then
	[ -f "$STAMP" ] || die "$BUILD/linux was not unpacked by this script; move it away or name it as KDIR="
	check_version "$BUILD/linux"
	sum=$(sed -n 2p "$STAMP")
	if [ -n "${LINUX_TARBALL:-}" ]; then
		named_tarball
		[ "$(sha256 "$tarball")" = "$sum" ] || die "$BUILD/linux comes from another tarball than $LINUX_TARBALL: make distclean first"
	fi
	case " $debian_tarball_sha256 $debian_deb_sha256 $kernelorg_sha256 ${LINUX_SHA256:-} " in
	*" $sum "*) ;;
	*) [ "${FORCE:-0}" = 1 ] || die "$BUILD/linux is not the base that configs/base pins now: make distclean first (FORCE=1 keeps it)" ;;
	esac
	exit 0
fi
if [ -n "${LINUX_TARBALL:-}" ]; then
	named_tarball
else
	need_space "$CACHE" "${NEED_CACHE_MIB:-700}" "the download"
	cached_tarball || debian_tarball || kernelorg_tarball ||
		die "no base kernel $version to be had: no network? LINUX_TARBALL=file or KDIR=tree names one"
fi
unpack
