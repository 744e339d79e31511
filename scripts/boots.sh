#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The boots of make test: configs/boots names each with its kernel, its kernel command line and its jobs.
. "$(dirname "$0")/lib.sh"

# add_kselftests [TARGET]: to the options, every target of configs/kselftests with its environment, or TARGET alone
add_kselftests() {
	local found
	mapfile -t found < <(awk -v want="${1:-}" '!/^#/ && NF && (want == "" || $1 == want) {
		print "--job"; print "kselftest=" $1 ($2 == "" ? "" : ":" $2)
		for (i = 3; i <= NF; i++) {print "--env"; print $i}}' "$ROOT/configs/kselftests")
	[ ${#found[@]} -gt 0 ] || die "configs/boots: $name: no target ${1:-at all} in configs/kselftests"
	options+=("${found[@]}" --kselftest-dir "$BUILD/out/vm/kselftest")
}

# read_boot LINE: sets the name, the kernel and the options of boot.py that a line of configs/boots stands for
read_boot() {
	local append what word limit=600
	IFS='|' read -r name kernel append what <<< "$1"
	name=${name//[[:space:]]/} kernel=${kernel//[[:space:]]/}
	if [ -z "$name" ] || [ -z "$kernel" ] || [[ ! $what =~ [^[:space:]] ]]; then
		die "configs/boots: name | kernel | command line | jobs expected: $1"
	fi
	options=()
	for word in $append; do options+=(--append "$word"); done
	for word in $what; do
		case $word in
		kunit)        options+=(--job kunit) ;;
		kselftests)   add_kselftests ;;
		kselftest=?*) add_kselftests "${word#*=}" ;;
		cpus=?*)      options+=(--cpus "${word#*=}") ;;
		limit=?*)     limit=${word#*=} ;;
		*)            die "configs/boots: $name: unknown job $word" ;;
		esac
	done
	options+=(--time-limit "$limit")
}

code=0
options=()
mapfile -t lines < <(grep -Ev '^[[:space:]]*(#|$)' "$ROOT/configs/boots")
[ ${#lines[@]} -gt 0 ] || die "configs/boots names no boot"
# A bad line is told before the first boot
for line in "${lines[@]}"; do read_boot "$line"; done
for line in "${lines[@]}"; do
	read_boot "$line"
	"$ROOT/scripts/boot.sh" "$name" "$kernel" "${options[@]}" </dev/null || code=1
done
exit "$code"
