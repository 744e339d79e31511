#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# menuconfig for build/out/vm. The change lasts until configs/ changes; to keep it, put it into a fragment there.
. "$(dirname "$0")/lib.sh"
"$ROOT/scripts/tools.sh" menuconfig
TARGETS=menuconfig exec "$ROOT/scripts/kernel.sh" vm vm all-on
