#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Everything that must hold, stage after stage; a failing stage does not stop the later ones, except that nothing can be
# tested without a tree and the plain kernel. The results of all stages go to build/results/tests.json and junit.xml.
# test.sh full: with the stage that is too long for every run, and without a limit of minutes.
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

stage=scripts/stage.sh
declare -a failed=()
mode=${1:-}
case $mode in "" | full) ;; *) die "usage: test.sh [full]" ;; esac
limits=(--limits configs/stage-limits)
[ "$mode" != full ] || limits=()

run() {
	local name=$1
	shift
	printf '\n== %s\n' "$name"
	"$stage" run "$name" "$@" </dev/null || failed+=("$name")
}

# beside NAME COMMAND...: a stage that runs beside the next ones, with the processor time that they leave
beside() {
	beside_name=$1
	setsid nice -n 19 "$stage" run "$@" </dev/null > "$RESULTS/$1.out" 2>&1 &
	beside_pid=$!
}

# joined: the stage that runs beside others has ended
joined() {
	local code=0
	wait "$beside_pid" || code=$?
	beside_pid=
	printf '\n== %s\n' "$beside_name"
	cat "$RESULTS/$beside_name.out"
	[ "$code" = 0 ] || failed+=("$beside_name")
}

must() {
	local before=${#failed[@]}
	run "$@"
	[ ${#failed[@]} = "$before" ] || finish
}

finish() {
	echo
	command -v python3 >/dev/null || die "no python3: the tools could not be installed"
	exec python3 scripts/report.py --results "$RESULTS" --series "$(series_hash)" "${limits[@]}" \
		"${failed[@]/#/--failed-stage=}"
}

beside_pid=
trap 'warn "interrupted; make test begins again, builds continue"; [ -z "$beside_pid" ] || kill -- "-$beside_pid"; exit 130' INT TERM
rm -rf "$RESULTS/parts" "$RESULTS/tests.json" "$RESULTS/junit.xml"
"$stage" start test
must preflight scripts/preflight.sh
must tools scripts/tools.sh
must base scripts/base.sh
must apply scripts/apply.sh
run lint scripts/lint.sh
must kernel scripts/kernel.sh vm vm all-on
run kernel_debug scripts/kernel.sh debug vm all-on debug
must kselftests scripts/kselftests.sh
# The boots that run alone leave a processor
beside identity scripts/result.sh identity/off_means_off "nothing to compare" scripts/identity.sh
run boots scripts/boots.sh
joined
run model_build scripts/model.sh build
run model scripts/pytest.sh model -m "not static" selftests/model
run user scripts/pytest.sh user -m "not full" selftests/usercopy
run colour scripts/pytest.sh colour -m "not full" selftests/colour
run imv scripts/pytest.sh imv -m "not full and not bench" selftests/imv
run runner scripts/pytest.sh runner selftests/vm selftests/identity
run queue scripts/pytest.sh queue -m "not static and not robust" selftests/queue
run robust scripts/pytest.sh robust -m robust selftests/queue
if [ "$mode" = full ]; then
	plugins=$(gcc -print-file-name=plugin)/include/plugin-version.h
	erase=()
	[ ! -e "$plugins" ] || ! command -v g++ >/dev/null || erase=(kstack_erase)
	run kernel_kasan scripts/kernel.sh kasan vm all-on kasan "${erase[@]}"
	run boots_full scripts/boots.sh configs/boots-full
	run full scripts/pytest.sh full -m full selftests
fi
finish
