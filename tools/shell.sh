#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# A shell in a virtual machine that runs build/out/vm on this system's root, copy on write;
# build/results alone is written through.
. "$(dirname "$0")/lib.sh"

image=$KERNELS/vm/arch/x86/boot/bzImage
[ -f "$image" ] || die "no kernel in $KERNELS/vm: run make kernel"
[ -x "$VENV/bin/vng" ] || die "virtme-ng is not installed: run make tools"
# QEMU 7.2's TCG breaks live text poking when each virtual CPU has a thread of its own
accel=(--disable-kvm --qemu-opts='-accel tcg,thread=single')
[ "${KVM:-0}" != 1 ] || accel=()
# vng calls virtme-run by name
export PATH=$VENV/bin:$PATH
mkdir -p "$BUILD/results"
say "starting; Ctrl-D ends the virtual machine, what it writes outside $BUILD/results is discarded"
exec "$VENV/bin/vng" --run "$image" "${accel[@]}" --cpus 2 --memory 1G \
	--rwdir="$BUILD/results"
