#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The README's two commands, make and make test, in a bare Debian root: debootstrap's minbase with
# git and make, nothing else.
#   bare.sh ci      this checkout at its own path, with the user's cache (downloads, ccache, .debs);
#                   without the right to make or mount a root, on this system: one line says so
#   bare.sh run [COMMAND]    a clone of HEAD and no cache; a command of bash's instead of the two
# The root stays in the cache as debootstrap left it. Each run works on an overlay (else a copy) of
# it, in mount and process namespaces of its own: nothing stays mounted or running. The Debian
# mirror, proxies and certificates are those of this system.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree/debian.sh"

SUITE=bookworm
BASE=$CACHE/bare-$SUITE
HOME_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}
work=

# shellcheck disable=SC2317	# called by the trap
clean_up() { [ -z "$work" ] || rm -rf --one-file-system "$work"; }
trap clean_up EXIT
trap 'warn "interrupted"; exit 130' INT TERM

# possible: whether a root can be made and mounted here; prints the reason if not
possible() {
	[ "$(id -u)" = 0 ] || { echo "not root"; return 1; }
	unshare --mount --pid --fork true 2>/dev/null || { echo "no namespaces of its own"; return 1; }
	unshare --mount mount -t tmpfs tmpfs "$work" 2>/dev/null || { echo "may not mount"; return 1; }
	"$ROOT/tools/install.sh" bare >&2 || { echo "no debootstrap"; return 1; }
	make_base >&2 || { echo "debootstrap failed"; return 1; }
}

# make_base: debootstrap's root in the cache, whole or not at all
make_base() {
	local mirror log=$work/debootstrap.log
	[ ! -f "$BASE/.whole" ] || return 0
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || { warn "apt knows no Debian mirror"; return 1; }
	say "debootstrap: $SUITE with git and make"
	rm -rf --one-file-system "$BASE"
	mkdir -p "$CACHE"
	debootstrap --variant=minbase --include=git,make "$SUITE" "$BASE" "$mirror" > "$log" 2>&1 ||
		{ tail -n 3 "$log" >&2; return 1; }
	rm -f "$BASE"/var/cache/apt/archives/*.deb
	touch "$BASE/.whole"
}

# configure ROOT: the network as this system has it
configure() {
	local mirror file certificates=usr/local/share/ca-certificates
	mirror=$(debian_mirror)
	printf "deb $mirror %s main\n" "$SUITE" "$SUITE-updates" > "$1/etc/apt/sources.list"
	apt-config dump | grep '^Acquire::[A-Za-z-]*\(::Proxy\|::Verify\| \)' \
		> "$1/etc/apt/apt.conf.d/90system" || true
	mkdir -p "$1/$certificates"
	for file in /etc/resolv.conf /etc/hosts /etc/pip.conf "/$certificates"/*.crt; do
		[ ! -f "$file" ] || cp -L "$file" "$1$file"
	done
}

# bind DIR [PLACE]: DIR at the same place in the root
bind() {
	mkdir -p "$1" "$root${2:-$1}"
	mount --bind "$1" "$root${2:-$1}"
}

# inside MODE COMMAND: in namespaces of its own, the mounts and the command
inside() {
	local name place=$ROOT variables=("HOME=$HOME" "TERM=${TERM:-dumb}" LANG=C.UTF-8)
	local overlay="lowerdir=$BASE,upperdir=$work/upper,workdir=$work/overlay"
	root=$work/root
	mount --make-rprivate /
	if ! mount -t overlay overlay -o "$overlay" "$root" 2>/dev/null; then
		cp -a "$BASE/." "$work/upper/"
		mount --bind "$work/upper" "$root"
	fi
	configure "$root"
	mkdir -p "$root$HOME"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	variables+=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
	variables+=(GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory "GIT_CONFIG_VALUE_0=*")
	for name in CI JOBS KVM FRESH DEADLINE LIMIT_MINUTES DEBIAN_MIRROR LINUX_SHA256 \
		http_proxy https_proxy no_proxy; do
		[ -z "${!name:-}" ] || variables+=("$name=${!name}")
	done
	if [ "$1" = ci ]; then
		bind "$ROOT"
		bind "$(git -C "$ROOT" rev-parse --path-format=absolute --git-common-dir)"
		bind "$CACHE"
		bind "$HOME_CACHE"
		bind "$CACHE/debs" /var/cache/apt/archives
		variables+=("XDG_CACHE_HOME=$HOME_CACHE" "CACHE=$CACHE")
	else
		place=$HOME/cache-footprint
		git clone -q "$ROOT" "$root$place"
	fi
	chroot "$root" env -i "${variables[@]}" \
		bash -c 'cd "$1" && eval "$2" </dev/null' bare "$place" "$2"
}

mode=${1:-} command=${2:-make && make test}
case $mode in
inside)	trap - EXIT INT TERM; work=$3; inside "$2" "$4"; exit ;;
ci)	[ $# = 1 ] || die "ci takes no command" ;;
run)	[ $# -le 2 ] || die "usage: bare.sh run [COMMAND]" ;;
*)	die "usage: bare.sh ci|run [COMMAND]" ;;
esac
mkdir -p "$CACHE"
exec 9>"$CACHE/.lock-bare"
flock -n 9 || die "another run works in a bare root of $CACHE; wait for it"
rm -rf --one-file-system "$CACHE"/.bare.*
work=$(mktemp -d "$CACHE/.bare.XXXXXX")
mkdir "$work"/{upper,overlay,root}

if [ "$mode" != ci ]; then
	[ -z "$(git -C "$ROOT" status --porcelain)" ] ||
		warn "uncommitted changes are not in the clone that is tested"
	reason=$(possible) || die "cannot make a bare root: ${reason##*$'\n'}"
elif ! reason=$(possible); then
	say "the two commands run on this system, not in a bare root: ${reason##*$'\n'}"
	cd "$ROOT"
	eval "$command" </dev/null
	exit
fi

# In the background, for the traps to run at once; all that it started ends with unshare
unshare --mount --pid --fork --kill-child "$ROOT/tools/bare.sh" inside "$mode" "$work" "$command" &
# unshare blocks SIGTERM while it waits
trap 'kill -KILL $!; wait $! || true; warn "interrupted"; exit 130' INT TERM
wait $!
