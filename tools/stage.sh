#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Runs one stage of a longer job and keeps its time.
#   stage.sh start JOB            a new job: forget the old times
#   stage.sh run NAME COMMAND...  run COMMAND, note its seconds; its exit code is passed on
#   stage.sh finish               what was done, minutes per stage, what to do next
. "$(dirname "$0")/lib.sh"
times=$RESULTS/stages

case $1 in
start)
	mkdir -p "$RESULTS"
	echo "# job $2 $(date +%s)" > "$times"
	;;
run)
	name=$2
	shift 2
	start=$(date +%s)
	code=0
	"$@" || code=$?
	echo "$name $(( $(date +%s) - start ))" >> "$times"
	exit "$code"
	;;
finish)
	awk '$1 != "#" {printf "%s%s %.1f min", sep, $1, $2 / 60; sep = ", "; sum += $2}
		END {printf "; together %.1f min\n", sum / 60}' "$times"
	cat <<END

Linux $(kernel_version "$TREE") with the series${GROUP:+ (group $GROUP)} is in $TREE,
built in $KERNELS/vm.
  make test     everything that must hold      make shell    an interactive virtual machine
  make help     all targets                    README.md     the options, how to use another tree
END
	;;
*)
	die "usage: stage.sh start JOB | run NAME COMMAND... | finish"
	;;
esac
