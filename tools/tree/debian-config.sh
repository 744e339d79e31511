#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# debian-config.sh [FLAVOUR]: prints the configuration of Debian's kernel of the pinned
# VERSION.PATCHLEVEL for x86_64, default flavour cloud-amd64, from the package linux-config-VERSION
# of the configured mirror. configs/base.config has lines of it.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/debian.sh"
# shellcheck source=../../configs/kernel.pin
. "$PIN"

package=linux-config-${version%.*}
# shellcheck disable=SC2154	# newer_suites is the pin's
for suite in "${newer_suites[@]}"; do
	debian_suite_ready "$suite" || continue
	[ -n "$(debian_has "$package")" ] || continue
	rm -f "$apt/$package"_*.deb
	debian_download "$package" >&2 || continue
	dpkg-deb --fsys-tarfile "$apt/$package"_*.deb |
		tar -xO "./usr/src/$package/config.amd64_none_${1:-cloud-amd64}.xz" | xz -d ||
		die "$package has no configuration of ${1:-cloud-amd64}"
	exit 0
done
die "the mirror has no $package"
