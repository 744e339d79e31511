#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Unpacks the QEMU of Debian's backports into build/later-qemu, for the test that the cache model
# works with it too; nothing is installed. Prints the command line to use; exit status 3 and one
# line where there is none. A second run takes what the first one left.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/debian.sh"

none() { printf '%s\n' "$*"; exit 3; }

root=$BUILD/later-qemu
program=$root/usr/bin/qemu-system-x86_64
if [ ! -x "$program" ]; then
	take_lock later-qemu
	codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}") || true
	[ -n "$codename" ] || none "not a Debian release: no backports"
	debian_suite_ready "$codename-backports" >&2 || none "$codename-backports could not be had"
	[ -n "$(debian_has qemu-system-x86)" ] || none "no qemu-system-x86 in $codename-backports"
	need_space "$BUILD" 300 "QEMU of $codename-backports"
	rm -f "$apt"/qemu-system-*.deb
	debian_download -t "$codename-backports" qemu-system-x86 qemu-system-data >&2 ||
		none "QEMU of $codename-backports could not be downloaded"
	rm -rf "$root" "$root.part"
	for deb in "$apt"/qemu-system-*.deb; do
		dpkg-deb -x "$deb" "$root.part" || die "could not unpack ${deb##*/}"
	done
	rm -f "$apt"/qemu-system-*.deb
	mv "$root.part" "$root"
fi
missing=$(ldd "$program" | awk '/not found/ {print $1}' | xargs)
[ -z "$missing" ] || none "QEMU of the backports wants libraries that are not installed: $missing"
echo "$program -L $root/usr/share/qemu -L /usr/share/seabios -L /usr/share/qemu"
