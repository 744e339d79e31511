#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# boot.sh first: one boot of build/out/vm with its built-in KUnit tests, skipped when this very kernel passed before.
# boot.sh NAME OPTION...: a boot with selftests/vm/boot.py and these options.
. "$(dirname "$0")/lib.sh"

name=$1
shift
image=$BUILD/out/vm/arch/x86/boot/bzImage
[ -f "$image" ] || die "no kernel in $BUILD/out/vm: run make kernel"
mkdir -p "$RESULTS"
if [ "$name" = first ]; then
	key=$(cat "$image" "$ROOT"/selftests/vm/*.{py,txt} "$ROOT/configs/requirements.txt" | sha256sum | cut -c1-16)
	stamp=$BUILD/out/vm/.booted
	if [ "$(cat "$stamp" 2>/dev/null)" = "$key" ]; then
		say "this kernel was booted and passed before (build/results/vm-first)"
		exit 0
	fi
	set -- --job kunit
fi
"$VENV/bin/python" "$ROOT/selftests/vm/boot.py" --kernel "$BUILD/out/vm" --tree "$TREE" --results "$RESULTS" --name "$name" "$@"
[ "$name" != first ] || echo "$key" > "$stamp"
