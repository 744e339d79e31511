# SPDX-License-Identifier: GPL-2.0
# Shared by the scripts in this directory: paths, messages, the lock. Sourced, never run.
# shellcheck shell=bash disable=SC2034	# the paths are for those who source this
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$ROOT/build}
BUILD=$(realpath -ms -- "$BUILD")
CACHE=$(realpath -ms -- "${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cache-footprint}")
TREE=$(realpath -ms -- "${KDIR:-$BUILD/linux}")
PIN=${PIN:-$ROOT/configs/kernel.pin}
VENV=$BUILD/venv
# The user's own quilt settings are for the user's own queue
unset "${!QUILT_@}"
QUILT_PATCHES=$(realpath -ms -- "${QUEUE:-$ROOT/patches}")
export LC_ALL=C QUILT_PATCHES
export QUILTRC=$ROOT/tools/quiltrc

say()  { printf '%s: %s\n' "${0##*/}" "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die()  { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# GROUP="a b" has its kernels and results in out/a+b and results/a+b, JOB=c in results/job-c
[[ ${GROUP:-} =~ ^[a-z\ -]*$ && ${JOB:-} =~ ^[A-Za-z0-9_-]*$ ]] ||
	die "GROUP= takes names of groups, JOB= that of a slow job"
[ -z "${GROUP:-}" ] || GROUP=$(xargs -n 1 <<< "$GROUP" | sort -u | xargs)
GROUP_DIR=${GROUP:+/${GROUP// /+}}
KERNELS=$BUILD/out$GROUP_DIR
RESULTS=$(realpath -ms -- "${RESULTS:-$BUILD/results$GROUP_DIR${JOB:+/job-$JOB}}")

# sha256 FILE: the SHA-256 sum of FILE in hexadecimal, nothing else
sha256() { sha256sum -- "$1" | cut -d' ' -f1; }

# kernel_version DIR: "7.3.4" as DIR/Makefile says it; fails if that is no kernel tree
kernel_version() {
	[ -f "$1/Makefile" ] && [ -d "$1/arch" ] || return 1
	awk '/^VERSION = /{v=$3} /^PATCHLEVEL = /{p=$3} /^SUBLEVEL =/{s=$3} NR > 6 {exit}
		END {if (v == "" || p == "") exit 1; print v "." p "." (s == "" ? 0 : s)}' "$1/Makefile"
}

# base_version: the version of the tree, with that of the package where it is not the pinned one
base_version() {
	local newer
	newer=$([ "$TREE" != "$BUILD/linux" ] || sed -n 3p "$BUILD/linux.base" 2>/dev/null)
	echo "$(kernel_version "$TREE")${newer:+ ($newer, not the pinned base)}"
}

# read_series WHAT [GROUP...]: what series.py prints of the series; one line and exit 1 on an error
read_series() {
	command -v python3 >/dev/null || die "python3 is not installed: make tools"
	python3 -IS -X utf8 "$ROOT/tools/series.py" "$QUILT_PATCHES" "$@"
}

# list_series [GROUP...]: the patch names in order, of all groups or of these and what they need
list_series() { read_series names "$@"; }

# series_hash [GROUP...]: one hash of the diffs in order
series_hash() { read_series hash "$@"; }

# take_lock NAME: one run at a time in one build directory
take_lock() {
	mkdir -p "$BUILD"
	exec 9>"$BUILD/.lock-$1"
	# A run that was killed a moment ago may still have children that end
	flock -w 5 9 || die "another run works in $BUILD (lock .lock-$1); wait for it or use BUILD=dir"
}

# need_space DIR MIB WHAT: stop unless DIR's file system has MIB mebibytes free
need_space() {
	local dir=$1 free
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	free=$(df -Pm "$dir" | awk 'NR == 2 {print $4}')
	[ "$free" -ge "$2" ] || die "$3 needs $2 MiB of disk in $1, only $free MiB are free"
}
