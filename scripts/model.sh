#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The cache model (selftests/model) on the kernel in KERNEL= (an O= directory, default build/out/vm)
#   model.sh build    builds the plugin, the guest's program and its modules into build/cachemodel
#   model.sh run      builds, boots and counts; selftests/model reads the variables: WORKLOAD=,
#                     SET="NAME=VALUE ...", GEOMETRY="l1d=48K:12 ...", ALSO="l2:2M:16 ..." (further
#                     caches), APPEND="kernel parameters", RANGE="functions", BOUND=1 (again fully
#                     associative), INSTRUCTIONS=1 (count them, too), RESULT= (its name),
#                     CPUID="NAME=VALUE,..." (over QEMU's -cpu), TOP=, QEMU=, MEMORY=,
#                     TIME_LIMIT= (s, of a boot)
#   model.sh compare  A= and B=, two results side by side
#   model.sh tables   the published table of GROUP=, of a kernel built for it unless KERNEL= is
#                     given; ONLY="pattern ..." counts some boots, and makes the table with the last
. "$(dirname "$0")/lib.sh"
set -f

kernel=$(realpath -m -- "${KERNEL:-$KERNELS/vm}")
built=$BUILD/cachemodel
export PYTHONPATH=$ROOT PYTHONDONTWRITEBYTECODE=1
model=("$VENV/bin/python" -m selftests.model)
results=(--results "$BUILD/results/model")

build() {
	local source=$kernel/source log=$built/build.log flags=() modules
	# Modules belong to one kernel: a directory for each O= directory (selftests/model looks there too)
	modules=$built/modules-$(printf %s "$kernel" | sha256sum | cut -c1-12)
	[ -f "$kernel/arch/x86/boot/bzImage" ] ||
		die "no kernel in $kernel: run make kernel, or name another O= directory with KERNEL="
	[ -f "$kernel/Module.symvers" ] ||
		die "$kernel has no Module.symvers: build its modules target too"
	[ -d "$source" ] || source=$TREE
	[ -z "${CC:-}" ] || flags+=(CC="$CC")
	[ -z "${LLVM:-}" ] || flags+=(LLVM="$LLVM")
	mkdir -p "$built"
	if ! make -C "$ROOT/selftests/model" OUT="$built" TREE="$source" KERNEL="$kernel" \
		MODULES="$modules" "${flags[@]}" > "$log" 2>&1; then
		grep -E 'error|Error' "$log" | head -3 >&2 || true
		die "the cache model does not build; see $log"
	fi
	grep -i 'warning' "$log" >&2 || true
}

tables() {
	local words fragments only=() first=$kernel published=("${model[@]}.published")
	words=$("${published[@]}" kernel "${GROUP:-}")
	[ -n "${KERNEL:-}" ] || first=$BUILD/out/${words%% *}
	while read -ra fragments; do
		[ -n "${KERNEL:-}" ] || GROUP="" "$ROOT/scripts/kernel.sh" "${fragments[@]}" </dev/null
		kernel=${first%/*}/${fragments[0]}
		build
	done <<< "$words"
	kernel=$first
	for words in ${ONLY:-}; do only+=("--only=$words"); done
	"${published[@]}" count "$GROUP" "${only[@]}" --kernel "$kernel" --built "$built" "${results[@]}"
}

[ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"
case ${1:-} in
build)	take_lock model; build ;;
run)
	options=(--kernel "$kernel" --built "$built" "${results[@]}")
	"${model[@]}" make "${options[@]}" --check
	take_lock model
	build
	exec "${model[@]}" make "${options[@]}" ;;
compare)
	if [ -z "${A:-}" ] || [ -z "${B:-}" ]; then
		die "A= and B= name two results, of build/results/model or files"
	fi
	exec "${model[@]}" compare "$A" "$B" "${results[@]}" ${TOP:+--top "$TOP"} ;;
tables)	take_lock model; tables ;;
*)	die "usage: model.sh build|run|compare|tables" ;;
esac
