#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# boot.sh first: one boot of build/out/vm with its built-in KUnit tests, skipped when this very kernel passed before.
# boot.sh NAME KERNEL OPTION...: a boot of build/out/KERNEL with selftests/vm/boot.py and these options.
# In the guest, modprobe finds the modules of that kernel. A kernel whose last build failed is not booted.
. "$(dirname "$0")/lib.sh"

name=$1 kernel=${2:-vm}
shift $(($# > 1 ? 2 : 1))
out=$BUILD/out/$kernel
image=$out/arch/x86/boot/bzImage
part=$RESULTS/parts/vm-$name.json
mkdir -p "$RESULTS/parts" "$RESULTS/vm-$name"

# no_result REASON: notes that this boot failed and gave no results of its own
no_result() {
	printf '[{"id": "vm/boot_%s", "status": "fail", "reason": "%s", "seconds": 0}]\n' "$name" \
		"$(tr -d '"\\\000-\037' <<< "$1")" > "$part"
}

if [ ! -f "$image" ] || [ ! -f "$out/.series" ]; then
	reason="no kernel in build/out/$kernel, or its last build failed"
	no_result "$reason"
	die "boot $name: $reason"
fi
if [ "$name" = first ]; then
	key=$(cat "$image" "$ROOT"/selftests/vm/*.{py,txt} "$ROOT/configs/requirements.txt" | sha256sum | cut -c1-16)
	stamp=$out/.booted
	if [ "$(cat "$stamp" 2>/dev/null)" = "$key" ]; then
		say "this kernel was booted and passed before (build/results/vm-first)"
		exit 0
	fi
	set -- --job kunit
fi
rm -f "$part"
code=0
"$VENV/bin/python" "$ROOT/selftests/vm/boot.py" --kernel "$out" --tree "$TREE" --results "$RESULTS" --name "$name" \
	--env "MODPROBE_OPTIONS=-d $out/modules" "$@" 2>&1 | tee "$RESULTS/vm-$name/run.log" || code=$?
if [ "$code" != 0 ]; then
	[ -f "$part" ] || no_result "boot.py: exit status $code: $(tail -n 1 "$RESULTS/vm-$name/run.log")"
	exit "$code"
fi
[ "$name" != first ] || echo "$key" > "$stamp"
