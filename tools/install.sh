#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# install.sh [SECTION...]: installs the distribution packages of these sections of configs/packages
# (default: test) and the pinned Python tools of configs/requirements.txt, as root on a Debian-like
# system. It first prints what is missing. INSTALL=0 prints the command that installs it, and stops.
. "$(dirname "$0")/lib.sh"

LIST=$ROOT/configs/packages
sections=("$@")
[ $# -gt 0 ] || sections=(test)

# is_there KIND ARGUMENT: the probe of one line of configs/packages
is_there() {
	case $1 in
	cmd)  command -v "$2" >/dev/null 2>&1 ;;
	file) [ -e "$2" ] ;;
	run)  eval "$2" >/dev/null 2>&1 ;;
	*)    die "configs/packages: unknown probe '$1'" ;;
	esac
}

# missing_packages SECTION: the packages of the section whose probe fails
missing_packages() {
	local package kind argument section=''
	while read -r package kind argument; do
		case $package in
		''|'#'*) continue ;;
		'['*']') section=${package:1:-1}; continue ;;
		esac
		[ "$section" = "$1" ] || continue
		is_there "$kind" "$argument" && continue
		[[ $package != *@GCC@* ]] || package=${package/@GCC@/$(gcc -dumpversion | cut -d. -f1)}
		echo "$package"
	done < "$LIST"
}

install_packages() {
	local packages=("$@") command="apt-get install --no-install-recommends ${*}"
	if ! command -v apt-get >/dev/null 2>&1; then
		die "missing: ${packages[*]} (Debian's names);" \
			"install them with this system's package manager and run again"
	fi
	if [ "${INSTALL:-1}" = 0 ] || [ "$(id -u)" != 0 ]; then
		die "missing packages; as root run: $command"
	fi
	say "missing packages: ${packages[*]}"
	apt-get update -qq || die "apt-get update failed: no network, or a broken sources list"
	$command --assume-no 2>/dev/null | grep -E '^(Need to get|After this)' || true
	DEBIAN_FRONTEND=noninteractive $command -y -qq >"$BUILD/apt.log" 2>&1 </dev/null ||
		die "apt-get could not install them; its output is in $BUILD/apt.log"
}

python_tools() {
	local pins stamp=$VENV/.pins
	pins=$(python3 -c 'import sys; print(sys.version_info[:2])')
	pins=$(sha256 "$ROOT/configs/requirements.txt")-$pins
	[ "$(cat "$stamp" 2>/dev/null)" = "$pins" ] && [ -x "$VENV/bin/vng" ] && return
	say "installing the Python tools of configs/requirements.txt into ${VENV#"$ROOT"/}"
	rm -rf "$VENV"
	python3 -m venv "$VENV"
	"$VENV/bin/pip" install --quiet --disable-pip-version-check \
		--requirement "$ROOT/configs/requirements.txt" ||
		die "pip could not install configs/requirements.txt: no network?"
	echo "$pins" > "$stamp"
}

mkdir -p "$BUILD"
for section in "${sections[@]}"; do
	grep -q "^\[$section\]" "$LIST" || die "configs/packages has no section [$section]"
	mapfile -t missing < <(missing_packages "$section")
	[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
	mapfile -t missing < <(missing_packages "$section")
	[ ${#missing[@]} = 0 ] || die "still missing after the installation: ${missing[*]}"
done
case " ${sections[*]} " in *" test "*) python_tools ;; esac
