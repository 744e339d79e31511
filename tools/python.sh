#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# python.sh ARGUMENT...: python of build/venv in the repository, with the paths that tools read
. "$(dirname "$0")/lib.sh"

[ -x "$VENV/bin/python" ] || die "no Python tools in $VENV: run make tools"
cd "$ROOT"
CF_JOBS=${JOBS:-} CF_ROOT=$ROOT CF_BUILD=$BUILD CF_TREE=$TREE CF_OUT=$KERNELS/vm \
	CF_RESULTS=$RESULTS CF_CACHE=$CACHE \
	PYTHONDONTWRITEBYTECODE=1 exec "$VENV/bin/python" "$@"
