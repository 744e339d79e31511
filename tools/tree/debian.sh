# SPDX-License-Identifier: GPL-2.0
# Packages of another Debian suite than the system's, by apt with a configuration of its own:
# nothing is installed. Sourced after lib.sh, never run.
# shellcheck shell=bash disable=SC2034	# apt and apt_options are for those who source this

# The URI of the machine's own Debian mirror, as apt knows it; DEBIAN_MIRROR= names another
debian_mirror() {
	[ -z "${DEBIAN_MIRROR:-}" ] || { echo "$DEBIAN_MIRROR"; return; }
	apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI) $(RELEASE)' \
		'Identifier: Packages' 2>/dev/null |
		awk '$1 == "Debian" && $2 == "main" && $4 !~ /security/ {print $3; exit}'
}

# debian_suite_ready SUITE: fetches the lists of SUITE's main; sets apt, a directory to download to,
# and apt_options for apt-get and apt-cache. Fails with one line.
debian_suite_ready() {
	local mirror
	command -v apt-get >/dev/null 2>&1 || { warn "no apt here"; return 1; }
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || { warn "apt knows no Debian mirror"; return 1; }
	[[ $1 != *-security ]] || mirror=${mirror%/}-security
	apt=$CACHE/apt-$1
	mkdir -p "$apt/lists/partial" "$apt/archives/partial"
	echo "deb $mirror $1 main" > "$apt/sources.list"
	apt_options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt"
		-o APT::Sandbox::User=root -o Acquire::Retries=1)
	apt-get "${apt_options[@]}" -qq update ||
		{ warn "apt could not reach $1 on the configured mirror"; return 1; }
}

# debian_has PACKAGE: the versions of PACKAGE that the suite has, the latest first, on one line
debian_has() { apt-cache "${apt_options[@]}" madison "$1" | awk '/Packages$/ {print $3}' | xargs; }

# debian_download PACKAGE[=VERSION]...: into $apt
debian_download() {
	(cd "$apt" && apt-get "${apt_options[@]}" download "$@") ||
		{ warn "the download failed"; return 1; }
}

# inner_tarball DEB: sets tarball, the one inside a linux-source package, taken out into the cache
inner_tarball() {
	local name
	name=$(dpkg-deb --fsys-tarfile "$1" 2>/dev/null | tar -t 2>/dev/null |
		grep -m 1 -E '^\./usr/src/linux-source-[0-9.]+\.tar\.xz$') ||
		die "could not take the tarball out of $1: truncated, or no linux-source package"
	tarball=$CACHE/${name##*/}
	dpkg-deb --fsys-tarfile "$1" | tar -xO "$name" > "$tarball.part" ||
		die "could not take the tarball out of $1"
	mv "$tarball.part" "$tarball"
}
