#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# model.sh MODULE ARGUMENT...: python -m MODULE, one at a time: the cache model's files are shared
. "$(dirname "$0")/lib.sh"

take_lock model
exec "$ROOT/tools/python.sh" -m "$@"
