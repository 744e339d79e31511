#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The cache model (selftests/cachemodel), on the kernel in KERNEL= (an O= directory, default build/out/vm).
#   model.sh build       builds the plugin, the guest's program and its modules into build/cachemodel
#   model.sh run         builds, boots and counts: WORKLOAD=, SET="NAME=VALUE ...", GEOMETRY="l1d=48K:12 ...", RESULT= (its name),
#                        BOUND=1 (again fully associative), APPEND="kernel parameters", RANGE="functions", TOP=
#   model.sh compare     A= and B=, two results side by side
#   model.sh before      the tables of Documentation/results (about 20 minutes on two cores)
. "$(dirname "$0")/lib.sh"

kernel=$(realpath -ms -- "${KERNEL:-$BUILD/out/vm}")
built=$BUILD/cachemodel
model=("$VENV/bin/python" "$ROOT/selftests/cachemodel/model.py")

build() {
	local source=$kernel/source log=$built/build.log
	[ -f "$kernel/arch/x86/boot/bzImage" ] || die "no kernel in $kernel: run make kernel, or name another O= directory with KERNEL="
	[ -f "$kernel/Module.symvers" ] || die "$kernel has no Module.symvers: build its modules target too"
	[ -d "$source" ] || source=$TREE
	mkdir -p "$built"
	make -C "$ROOT/selftests/cachemodel" OUT="$built" TREE="$source" KERNEL="$kernel" > "$log" 2>&1 ||
		{ grep -E 'error|Error' "$log" | head -3 >&2 || true; die "the cache model does not build; see $log"; }
	grep -i 'warning' "$log" >&2 || true
}

run() {
	local options=() word told="make model"
	[ -n "${WORKLOAD:-}" ] || { "${model[@]}" list >&2; die "WORKLOAD= is not given"; }
	for word in ${SET:-}; do options+=(--set "$word"); done
	for word in ${GEOMETRY:-}; do options+=(--geometry "$word"); done
	for word in ${APPEND:-}; do options+=(--append "$word"); done
	for word in ${RANGE:-}; do options+=(--range "$word"); done
	[ -z "${RESULT:-}" ] || options+=(--name "$RESULT")
	[ -z "${TOP:-}" ] || options+=(--top "$TOP")
	[ "${BOUND:-0}" != 1 ] || options+=(--bound)
	for word in WORKLOAD SET GEOMETRY APPEND RANGE BOUND; do
		[ -z "${!word:-}" ] || told+=" $word=$(printf '%q' "${!word}")"
	done
	exec "${model[@]}" run "$WORKLOAD" --kernel "$kernel" --built "$built" --results "$RESULTS/model" \
		--series "$(series_hash)" --told "$told" "${options[@]}"
}

case ${1:-} in
build)	build ;;
run)	build; run ;;
compare)
	if [ -z "${A:-}" ] || [ -z "${B:-}" ]; then die "A= and B= name two results, of build/results/model or files"; fi
	exec "${model[@]}" compare "$A" "$B" --results "$RESULTS/model" ;;
before)
	build
	before=$ROOT/selftests/cachemodel/before.py
	"$VENV/bin/python" "$before" count --kernel "$kernel" --built "$built" --results "$RESULTS/model" --series "$(series_hash)"
	"$VENV/bin/python" "$before" tables ;;
*)	die "usage: model.sh build|run|compare|before" ;;
esac
