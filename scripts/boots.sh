#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The boots of make test: configs/boots names each with its kernel command line and jobs.
. "$(dirname "$0")/lib.sh"

code=0
options=()
mapfile -t kselftests < <(awk '!/^#/ && NF {print "--job"; print "kselftest=" $1 ":" $2; for (i = 3; i <= NF; i++) {print "--env"; print $i}}' "$ROOT/configs/kselftests")
while IFS='|' read -r name append what; do
	case $name in ''|'#'*) continue ;; esac
	options=()
	for word in $append; do options+=(--append "$word"); done
	[[ $what != *kunit* ]] || options+=(--job kunit)
	[[ $what != *kselftests* ]] || options+=("${kselftests[@]}" --kselftest-dir "$BUILD/out/vm/kselftest")
	"$ROOT/scripts/boot.sh" "${name// /}" "${options[@]}" --time-limit 600 </dev/null || code=1
done < "$ROOT/configs/boots"
[ ${#options[@]} -gt 0 ] || die "configs/boots names no boot"
exit "$code"
