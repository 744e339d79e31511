#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# "Off means off": builds base + ungated patches and the whole series, all options off, and compares the machine code.
#   CF_ROOT=dir     the queue (default: this repository)
#   CF_BUILD=dir    where to build (default CF_ROOT/build)
#   KDIR=tree       the base tree, pushed or not (default CF_BUILD/linux); it stays as it is
#   CC=, LLVM=      the compiler, as for scripts/kernel.sh
#   JOBS=number     objects compared at a time (default: all processors)
# Both states are built in one place, CF_BUILD/out/identity, from one source path, CF_BUILD/identity/linux, with one time
# stamp and with __LINE__ fixed: neither paths nor the lines that a hunk moves reach the objects. The whole series is
# built on a copy of the other build, where kbuild makes anew what depends on a file that a gated patch touches; nothing
# else can differ. A build is kept under a hash of all that goes into it and not made twice.
# Exit status: 0 no difference (or no gated patch to compare), 1 differences or a failed build, 2 nothing was comparable.
CF_ROOT=${CF_ROOT:-$(cd "$(dirname "$0")/.." && pwd)}
BUILD=${CF_BUILD:-${BUILD:-$CF_ROOT/build}}
QUEUE=${QUEUE:-$CF_ROOT/patches}
PIN=${PIN:-$CF_ROOT/configs/kernel.pin}
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

MARK='# --- gated from here ---'
SOURCE=$(realpath -m "$TREE")
WORK=$BUILD/identity
TREE=$WORK/linux
OUT=$BUILD/out/identity

# patches_of ungated|gated: the patches before or after the mark, in order
patches_of() {
	awk -v mark="$MARK" -v want="$1" '
		$0 == mark     { gated = 1; next }
		/^[ \t]*(#|$)/ { next }
		gated == (want == "gated") { print $1 }' "$QUILT_PATCHES/series"
}

# fix_lines: a header that gives __LINE__ one value. gcc warns of the same on its command line, and no option stops that.
fix_lines() {
	printf '%s\n' '#pragma GCC system_header' '#undef __LINE__' '#define __LINE__ 1' > "$WORK/line.h"
	export KCFLAGS="${KCFLAGS:-} -include $WORK/line.h"
}

# own_copy: $TREE, a copy of $SOURCE, by hard links where that is possible. quilt appends to .pc/applied-patches in place,
# so .pc is a true copy; so is each file that a patch touches. Then nothing that is ever written to is shared.
own_copy() {
	local file how=-a
	rm -rf "$TREE"
	mkdir -p "$TREE"
	if ln -f "$(find "$SOURCE" -maxdepth 1 -type f -print -quit)" "$WORK/.link" 2>/dev/null; then
		how=-al
		rm "$WORK/.link"
	fi
	(cd "$SOURCE" && find . -mindepth 1 -maxdepth 1 ! -name .pc -exec cp "$how" -t "$TREE" {} +)
	[ ! -d "$SOURCE/.pc" ] || cp -a "$SOURCE/.pc" "$TREE/.pc"
	{
		patch_paths "${patch_files[@]}"
		[ ! -d "$TREE/.pc" ] || (cd "$TREE/.pc" && find . -mindepth 2 -type f -printf '%P\n' | cut -d/ -f2-)
	} | sort -u | while read -r file; do
		[ ! -f "$TREE/$file" ] || cp -p --remove-destination "$SOURCE/$file" "$TREE/$file"
	done
}

# pop_all: the copy without any patch, whatever was edited or pushed; from quilt's own backups
pop_all() {
	[ ! -s "$TREE/.pc/applied-patches" ] ||
		(cd "$TREE" && quilt pop -a -f) > "$WORK/pop.log" 2>&1 || die "quilt pop failed: $(tail -1 "$WORK/pop.log")"
	rm -rf "$TREE/.pc"
}

push() {
	(cd "$TREE" && quilt push "$1" --fuzz=0) > "$WORK/push.log" 2>&1 || die "quilt push failed: $(tail -1 "$WORK/push.log")"
}

# base_key: one hash of the tree without patches: times and sizes, and the text of the files that patches touch
base_key() {
	local touched
	touched=$(patch_paths "${patch_files[@]}" | sort -u)
	(cd "$TREE" && {
		find . -type f -printf '%P %s %T@\n' | awk 'NR == FNR {touched[$1]; next} !($1 in touched)' <(echo "$touched") - | sort
		echo "$touched" | xargs -r cat 2>/dev/null || true
	}) | sha256sum | cut -c1-16
}

# key_of PATCH...: one hash of the base, the patches, the configuration, the compiler and the scripts that build
key_of() {
	local file
	{
		echo "$base"
		for file; do echo "$file"; cat "$QUILT_PATCHES/$file"; done
		cat "$CF_ROOT"/configs/{vm,all-off}.config "$CF_ROOT"/scripts/{kernel,identity}.sh 2>/dev/null || true
		echo "${CC:-gcc} ${LLVM:-} ${KCFLAGS:-}"
		${CC:-gcc} --version
	} | sha256sum | cut -c1-16
}

# build STATE KEY [FROM]: a build with the options off, on a copy of FROM's objects if that is given; the objects end up
# in $WORK/STATE, unless those of an earlier run with the same key are there
build() {
	local start=$SECONDS
	if [ "$(cat "$WORK/$1.key" 2>/dev/null)" = "$2" ] && [ -d "$WORK/$1" ]; then
		say "$1 was built before"
		return
	fi
	say "building $1"
	rm -rf "$OUT" "${WORK:?}/$1" "$WORK/$1.key"
	mkdir -p "${OUT%/*}"
	[ -z "${3:-}" ] || cp -a "$WORK/$3" "$OUT"
	"$CF_ROOT/scripts/kernel.sh" identity vm all-off || die "the build of $1 failed"
	[ -d "$OUT" ] || die "scripts/kernel.sh left no ${OUT#"$CF_ROOT"/}"
	mv -T "$OUT" "$WORK/$1"
	echo "$2" > "$WORK/$1.key"
	say "$1 built in $(((SECONDS - start + 59) / 60)) min"
}

[ -f "$QUILT_PATCHES/series" ] || die "no series file in $QUILT_PATCHES"
grep -qxF -e "$MARK" "$QUILT_PATCHES/series" || die "the series has no line '$MARK'"
if [ -z "$(patches_of gated)" ]; then
	echo "identity: no gated patches in the series, nothing to compare"
	exit 0
fi
[ -d "$SOURCE" ] || die "no kernel tree at $SOURCE (make apply makes it)"
[ ! -e "$SOURCE/.cache-footprint.undo" ] || die "a push onto $SOURCE is under way or was cut off: make apply first"
mapfile -t patch_files < <(list_series | sed "s,^,$QUILT_PATCHES/,")
for file in "${patch_files[@]}"; do
	[ -f "$file" ] || die "series names ${file##*/}, but there is no such file in $QUILT_PATCHES"
done
take_lock identity
need_space "$BUILD" 2500 "make identity"

mkdir -p "$WORK"
export CF_ROOT BUILD CF_BUILD=$BUILD CF_TREE=$TREE
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_USER=identity KBUILD_BUILD_HOST=identity
export KBUILD_BUILD_VERSION=1 SOURCE_DATE_EPOCH=0
fix_lines

own_copy
pop_all
base=$(base_key)
last_ungated=$(patches_of ungated | tail -1)
[ -z "$last_ungated" ] || push "$last_ungated"
mapfile -t ungated < <(patches_of ungated)
mapfile -t whole < <(list_series)
key=$(key_of "${ungated[@]}")
build ungated "$key"
push -a
build whole "$key-$(key_of "${whole[@]}")" ungated
exec "$CF_ROOT/scripts/identity.py" "$WORK/ungated" "$WORK/whole" --jobs "${JOBS:-$(nproc)}"
