#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Everything that must hold, stage after stage; a failing stage does not stop the later ones, except
# that nothing can be tested without a tree and the plain kernel. The results of all stages go to
# build/results/tests.json.
#   test.sh           make test; with GROUP= what belongs to these groups, in build/results/GROUP
#   test.sh full      the same and the slow jobs
#   test.sh job       the slow job JOB=NAME alone, in build/results/job-NAME
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

stage=tools/stage.sh
declare -a failed=()
mode=${1:-test}
[[ $mode =~ ^(test|full|job)$ ]] || die "usage: test.sh [full | job]"
[ "$mode" != job ] || [ -n "${JOB:-}" ] || die "JOB= is not given"

run() {
	local name=$1
	shift
	printf '\n== %s\n' "$name"
	"$stage" run "$name" "$@" </dev/null || failed+=("$name")
}

# background NICE NAME COMMAND...: a stage in parallel with the next ones, its results in
# parts/NAME.json; NICE 19: in the time that they leave. Four minutes before DEADLINE= (seconds
# since 1970, set by continuous integration) it ends and counts as skipped. Only these stages do.
declare -A background=()
background() {
	local nice=$1 name=$2 left=99999999
	shift 2
	[ -z "${DEADLINE:-}" ] || left=$((DEADLINE - 240 - $(date +%s)))
	[ "$left" -gt 0 ] || left=0.1
	setsid nice -n "$nice" timeout "$left" "$stage" run "$name" "$@" \
		</dev/null > "$RESULTS/$name.out" 2>&1 &
	background[$name]=$!
}

declare -a late=()
# joined [NAME...]: these stages, by default all that run in parallel, have ended
joined() {
	local name code pid
	[ $# -gt 0 ] || set -- "${!background[@]}"
	for name; do
		[ -n "${background[$name]:-}" ] || continue
		code=0 pid=${background[$name]}
		wait "$pid" || code=$?
		unset "background[$name]"
		printf '\n== %s\n' "$name"
		cat "$RESULTS/$name.out"
		if [ "$code" = 124 ] && [ -n "${DEADLINE:-}" ]; then
			# What it has started ends, too, and then writes no more
			timeout 60 bash -c "while kill -0 -- -$pid; do sleep 1; done" 2>/dev/null || true
			rm -f "$RESULTS/parts/$name.json"
			late+=("$name")
		elif [ "$code" != 0 ]; then
			failed+=("$name")
		fi
	done
}

# spare NAME COMMAND...: a stage that has the time left by all that must not be missing
spare() {
	background 0 "$@"
	joined "$1"
}

must() {
	local before=${#failed[@]}
	run "$@"
	[ ${#failed[@]} = "$before" ] || finish
}

finish() {
	echo
	command -v python3 >/dev/null || die "no python3: the tools could not be installed"
	exec tools/run tools.report --results "$RESULTS" --series "$(series_hash "${GROUP:-}")" \
		--base "$(base_version)" "${failed[@]/#/--failed-stage=}" "${late[@]/#/--late-stage=}"
}

# shellcheck disable=SC2317	# called by the trap
end_background() {
	local pid
	for pid in "${background[@]}"; do kill -- "-$pid" || true; done
}

trap end_background EXIT
trap 'warn "interrupted; make test begins again, builds continue"; exit 130' INT TERM HUP
take_lock test
rm -rf "$RESULTS/parts" "$RESULTS/tests.json"
"$stage" start test
must preflight tools/preflight.sh
must tools tools/install.sh
must base tools/tree/base.sh
must apply tools/run tools.tree.apply apply
if [ "$mode" = job ]; then
	run "job_$JOB" tools/run tools.jobs run "$JOB"
	finish
fi
run lint tools/lint.sh
must kernel tools/kernel.sh vm
run kselftests tools/kselftests.sh
# Where the tests are: all, or of GROUP= what has a folder
declare -a where=(tools selftests)
if [ -n "${GROUP:-}" ]; then
	where=()
	for name in $GROUP; do [ ! -d "selftests/$name" ] || where+=("selftests/$name"); done
	[ ${#where[@]} != 0 ] || where=(--ignore=tools --ignore=selftests)
fi
if [ -z "${GROUP:-}" ]; then
	background 19 identity tools/run tools.results identity/off_means_off \
		"nothing to compare" "$RESULTS/parts/identity.json" tools/run tools.identity.identity
	# Most of these wait, and their trees are their own
	background 10 robust tools/run pytest --part=robust --stage=robust
	background 10 checks tools/run pytest --part=checks --stage=checks
fi
boots=$(tools/run tools.vm.boots --list)
mapfile -t plain < <(awk '$2 == "vm" {print $1}' <<< "$boots")
run boots tools/run tools.vm.boots "${plain[@]}"
[ -n "${GROUP:-}" ] || background 0 series tools/run pytest --part=series --stage=series
run groups tools/run pytest --part=groups --stage=groups "${where[@]}"
if [ -z "${GROUP:-}" ]; then
	run tools tools/run pytest --part=tools --stage=tools
	spare model tools/run pytest --part=model --stage=model
fi
spare late tools/run pytest --part=late --stage=late "${where[@]}"
while read -r name kernel; do
	[ "$kernel" != vm ] || continue
	spare "kernel_$kernel" tools/kernel.sh "$kernel"
	spare "vm-$name" tools/run tools.vm.boots "$name"
done <<< "$boots"
spare debug tools/run pytest --part=debug --stage=debug "${where[@]}"
joined
if [ "$mode" = full ]; then
	jobs=$(tools/run tools.jobs list)
	while read -r name _; do
		run "job_$name" tools/run tools.jobs run "$name"
	done <<< "$jobs"
fi
finish
