#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The cache model (selftests/cachemodel), on the kernel in KERNEL= (an O= directory, default build/out/vm).
#   model.sh build       builds the plugin, the guest's program and its modules into build/cachemodel
#   model.sh run         builds, boots and counts: WORKLOAD=, SET="NAME=VALUE ...", GEOMETRY="l1d=48K:12 ...", RESULT= (its name),
#                        ALSO="l2:2M:16 ..." (further caches), BOUND=1 (again fully associative), INSTRUCTIONS=1 (count
#                        them, too), CPUID="NAME=VALUE,..." (over those of QEMU's -cpu), APPEND="kernel parameters", RANGE="functions", TOP=, QEMU=,
#                        MEMORY=, TIME_LIMIT= (seconds of one boot)
#   model.sh compare     A= and B=, two results side by side
#   model.sh before      the tables of Documentation/results/before-*.rst (about 20 minutes on two cores)
#   model.sh nontemporal that of Documentation/results/nontemporal.rst
#   model.sh usercopy    that of Documentation/results/usercopy.rst
#   model.sh colouring   that of Documentation/results/colouring.rst (ONLY="pattern ..." counts some of its boots, makes no table)
. "$(dirname "$0")/lib.sh"
set -f

kernel=$(realpath -m -- "${KERNEL:-$BUILD/out/vm}")
built=$BUILD/cachemodel
# Modules belong to one kernel: a directory for each O= directory (model.py looks there too)
modules=$built/modules-$(printf %s "$kernel" | sha256sum | cut -c1-12)
model=("$VENV/bin/python" "$ROOT/selftests/cachemodel/model.py")

build() {
	local source=$kernel/source log=$built/build.log flags=()
	[ -f "$kernel/arch/x86/boot/bzImage" ] || die "no kernel in $kernel: run make kernel, or name another O= directory with KERNEL="
	[ -f "$kernel/Module.symvers" ] || die "$kernel has no Module.symvers: build its modules target too"
	[ -d "$source" ] || source=$TREE
	[ -z "${CC:-}" ] || flags+=(CC="$CC")
	[ -z "${LLVM:-}" ] || flags+=(LLVM="$LLVM")
	mkdir -p "$built"
	make -C "$ROOT/selftests/cachemodel" OUT="$built" TREE="$source" KERNEL="$kernel" MODULES="$modules" "${flags[@]}" > "$log" 2>&1 ||
		{ grep -E 'error|Error' "$log" | head -3 >&2 || true; die "the cache model does not build; see $log"; }
	grep -i 'warning' "$log" >&2 || true
}

tools() { [ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"; }

run() {
	local word told="make model"
	for word in WORKLOAD SET GEOMETRY ALSO CPUID APPEND RANGE BOUND INSTRUCTIONS; do
		[ -z "${!word:-}" ] || told+=" $word=$(printf '%q' "${!word}")"
	done
	[ -z "${KERNEL:-}" ] || told+=" KERNEL=${kernel##*/}"
	exec "${model[@]}" run "$WORKLOAD" --kernel "$kernel" --built "$built" --results "$RESULTS/model" --told "$told" "${options[@]}"
}

# read_options: what was given, as model.py takes it, checked before anything is built
read_options() {
	local word
	[ -n "${WORKLOAD:-}" ] || die "WORKLOAD= is not given; it can be $("${model[@]}" list --names)"
	case ${BOUND:-0} in 0) ;; 1) options+=(--bound) ;; *) die "BOUND=$BOUND: 1 or 0 is wanted" ;; esac
	case ${INSTRUCTIONS:-0} in 0) ;; 1) options+=(--instructions) ;; *) die "INSTRUCTIONS=$INSTRUCTIONS: 1 or 0 is wanted" ;; esac
	for word in ${SET:-}; do options+=(--set "$word"); done
	for word in ${GEOMETRY:-}; do options+=(--geometry "$word"); done
	for word in ${ALSO:-}; do options+=(--also "$word"); done
	for word in ${APPEND:-}; do options+=(--append "$word"); done
	for word in ${RANGE:-}; do options+=(--range "$word"); done
	[ -z "${RESULT:-}" ] || options+=(--name "$RESULT")
	[ -z "${TOP:-}" ] || options+=(--top "$TOP")
	[ -z "${CPUID:-}" ] || options+=("--cpuid=$CPUID")
	[ -z "${QEMU:-}" ] || options+=(--qemu "$QEMU")
	[ -z "${MEMORY:-}" ] || options+=(--memory "$MEMORY")
	[ -z "${TIME_LIMIT:-}" ] || options+=(--time-limit "$TIME_LIMIT")
	"${model[@]}" run "$WORKLOAD" --kernel "$kernel" --built "$built" --check "${options[@]}"
}

before() {
	local on before=$ROOT/selftests/cachemodel/before.py
	on=$(grep -xF -f <(grep '^CONFIG_' "$ROOT/configs/all-on.config") "$kernel/.config" | xargs) || true
	[ -z "$on" ] || die "these tables are of a kernel with the series' options off, $kernel has $on: KERNEL= names another"
	"$VENV/bin/python" "$before" count --kernel "$kernel" --built "$built" --results "$RESULTS/model"
	"$VENV/bin/python" "$before" tables
}

# published NAME OPTION...: the tables of NAME, of a kernel that has all of OPTION; with ONLY= just some of the results
published() {
	local option word only=() tables=$ROOT/selftests/cachemodel/$1.py
	for option in "${@:2}"; do
		grep -qx "CONFIG_$option=y" "$kernel/.config" || die "$kernel has no CONFIG_$option"
	done
	for word in ${ONLY:-}; do only+=("--only=$word"); done
	"$VENV/bin/python" "$tables" count "${only[@]}" --kernel "$kernel" --built "$built" --results "$RESULTS/model"
	[ -n "${ONLY:-}" ] || "$VENV/bin/python" "$tables" tables
}

options=()
tools
case ${1:-} in
build)	take_lock model; build ;;
run)	read_options; take_lock model; build; run ;;
compare)
	if [ -z "${A:-}" ] || [ -z "${B:-}" ]; then die "A= and B= name two results, of build/results/model or files"; fi
	exec "${model[@]}" compare "$A" "$B" --results "$RESULTS/model" ${TOP:+--top "$TOP"} ;;
before)	take_lock model; build; before ;;
nontemporal)	take_lock model; build; published nontemporal NONTEMPORAL_WRITE ;;
usercopy)	take_lock model; build; published usercopy X86_USERCOPY_VARIANTS X86_USERCOPY_CONST DRM_VGEM ;;
colouring)	take_lock model; build; published colouring KSTACK_COLOUR TASK_STRUCT_COLOUR ;;
*)	die "usage: model.sh build|run|compare|before|nontemporal|usercopy|colouring" ;;
esac
