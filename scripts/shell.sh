#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# An interactive shell in a virtual machine that runs build/out/vm on this system's own root file system, copy on write.
. "$(dirname "$0")/lib.sh"

accel=(--disable-kvm)
[ "${KVM:-0}" = 1 ] && accel=()
say "starting; Ctrl-D ends the virtual machine, what it writes is thrown away"
exec "$VENV/bin/vng" --run "$BUILD/out/vm/arch/x86/boot/bzImage" "${accel[@]}" --cpus 2 --memory 1G
