#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# result.sh ID SKIP COMMAND...: runs COMMAND and notes one result for the report: pass or fail by its exit code, skip if
# its last line holds the words SKIP; the last line is the reason. One that ends with "(cached)" was proven before.
. "$(dirname "$0")/lib.sh"

id=$1 skip=$2
shift 2
mkdir -p "$RESULTS/parts"
start=$SECONDS
code=0
"$@" 2>&1 | tee "$RESULTS/${id//\//-}.log" || code=$?
line=$(tail -n 1 "$RESULTS/${id//\//-}.log" | tr -d '"\\\t')
status=pass
[ "$code" = 0 ] || status=fail
[[ $status = fail || $line != *"$skip"* ]] || status=skip
cached=
[[ $status != pass || $line != *"(cached)" ]] || cached=', "cached": true'
printf '[{"id": "%s", "status": "%s", "reason": "%s", "seconds": %d%s}]\n' "$id" "$status" "$line" $((SECONDS - start)) "$cached" \
	> "$RESULTS/parts/${id//\//-}.json"
exit "$code"
