#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# boots.sh [FILE]: the boots of make test. FILE, by default configs/boots, names each with its kernel, its kernel command
# line and its jobs.
# As many at a time as there are processors (JOBS=), four at most; those that the word "alone" is with, one by one, first.
# What a boot prints is shown when it ends.
. "$(dirname "$0")/lib.sh"

# add_kselftests [TARGET]: to the options, every target of configs/kselftests with its environment, or TARGET alone
add_kselftests() {
	local found
	mapfile -t found < <(awk -v want="${1:-}" '!/^#/ && NF && (want == "" || $1 == want) {
		print "--job"; print "kselftest=" $1 ($2 == "" ? "" : ":" $2)
		for (i = 3; i <= NF; i++) {print "--env"; print $i}}' "$ROOT/configs/kselftests")
	[ ${#found[@]} -gt 0 ] || die "$list: $name: no target ${1:-at all} in configs/kselftests"
	options+=("${found[@]}" --kselftest-dir "$BUILD/out/vm/kselftest")
}

# read_boot LINE: sets the name, the kernel and the options of boot.py that a line of configs/boots stands for
read_boot() {
	local append what word limit=600
	alone=
	IFS='|' read -r name kernel append what <<< "$1"
	name=${name//[[:space:]]/} kernel=${kernel//[[:space:]]/}
	if [ -z "$name" ] || [ -z "$kernel" ] || [[ ! $what =~ [^[:space:]] ]]; then
		die "$list: name | kernel | command line | jobs expected: $1"
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
		alone)        alone=yes ;;
		allow=?*)     options+=(--allow "${word#*=}") ;;
		env=?*=*)     options+=(--env "${word#*=}") ;;
		memory=?*)    options+=(--memory "${word#*=}") ;;
		timeout=?*)   options+=(--kselftest-timeout "${word#*=}") ;;
		*)            die "$list: $name: unknown job $word" ;;
		esac
	done
	options+=(--time-limit "$limit")
}

# run_boot: boots what read_boot has read
run_boot() {
	"$ROOT/scripts/boot.sh" "$name" "$kernel" "${options[@]}" </dev/null
}

code=0
options=()
side=${JOBS:-$(nproc)}
[ "$side" -le 4 ] || side=4
list=${1:-configs/boots}
[ -f "$ROOT/$list" ] || die "no list of boots $list"
mapfile -t lines < <(grep -Ev '^[[:space:]]*(#|$)' "$ROOT/$list")
[ ${#lines[@]} -gt 0 ] || die "$list names no boot"
# A bad line is told before the first boot
for line in "${lines[@]}"; do read_boot "$line"; done

for line in "${lines[@]}"; do
	read_boot "$line"
	[ -z "$alone" ] || run_boot || code=1
done

shown=$(mktemp -d)
trap 'rm -rf "$shown"' EXIT
trap 'kill $(jobs -rp) 2>/dev/null; exit 130' INT TERM
for line in "${lines[@]}"; do
	read_boot "$line"
	[ -z "$alone" ] || continue
	while [ "$(jobs -rp | wc -l)" -ge "$side" ]; do wait -n || true; done
	{ run_boot > "$shown/$name" 2>&1 || touch "$shown/.failed"; cat "$shown/$name"; } &
done
wait
[ ! -e "$shown/.failed" ] || code=1
exit "$code"
