#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# pytest.sh NAME ARGUMENT...: pytest of build/venv with the paths that the tests read; results go to build/results/parts/NAME.json.
. "$(dirname "$0")/lib.sh"

part=$1
shift
[ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"
mkdir -p "$RESULTS/parts"
cd "$ROOT"
CF_JOBS=${JOBS:-} CF_ROOT=$ROOT CF_BUILD=$BUILD CF_TREE=$TREE CF_OUT=$BUILD/out/vm CF_RESULTS=$RESULTS CF_PART=$part CF_CACHE=$CACHE \
	CF_KERNEL=$BUILD/out/vm/arch/x86/boot/bzImage PYTHONDONTWRITEBYTECODE=1 \
	exec "$VENV/bin/python" -m pytest -q -p no:cacheprovider --junitxml="$RESULTS/junit-$part.xml" "$@"
