#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# pytest.sh NAME ARGUMENT...: pytest of build/venv; results go to build/results/parts/NAME.json
export CF_PART=$1
shift
exec "$(dirname "$0")/python.sh" -m pytest -q "$@"
