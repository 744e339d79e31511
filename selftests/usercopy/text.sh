#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# What each option of user copies costs of text on an x86_64 defconfig: writes Documentation/results/text-usercopy.txt.
# The kernel without the options is built whole, in build/out/text (half an hour on two cores); with an option only the
# objects that it can change: those that copy from or to user memory, and those with the option's own code.
. "$(dirname "$0")/lib.sh"

PAGE=$ROOT/Documentation/results/text-usercopy.txt
OPTIONS=(X86_USERCOPY_VARIANTS X86_USERCOPY_CONST)
# Copies are calls, or in place (with a site that alternatives are applied to)
COPIES=' U (_copy_from_user|_copy_to_user|rep_movs_alternative)$'
ALSO=(arch/x86/kernel/cpu/common.o)
ADDED=(arch/x86/lib/copy_user_variants_64.o arch/x86/lib/usercopy_variant.o)
TEXT='^\.(text|noinstr|sched|cpuidle|init\.text|exit\.text|entry)'

# run NAME COMMAND...: into build/out/NAME.log
run() {
	local log=$BUILD/out/$1.log
	shift
	"$@" >> "$log" 2>&1 || die "$* failed; see $log"
}

# build NAME OPTION TARGET...: a defconfig with the option, or with none for "", in build/out/NAME
build() {
	local name=$1 option=$2 out=$BUILD/out/$1 make
	shift 2
	make=(make -s -C "$TREE" O="$out" CC="${CC:-ccache gcc}" -j"${JOBS:-$(nproc)}")
	mkdir -p "$out"
	: > "$out.log"
	run "$name" "${make[@]}" x86_64_defconfig
	[ -z "$option" ] || run "$name" "$TREE/scripts/config" --file "$out/.config" -e "$option"
	run "$name" "${make[@]}" olddefconfig
	[ -z "$option" ] || run "$name" grep -qx "CONFIG_$option=y" "$out/.config"
	run "$name" "${make[@]}" "$@"
}

# bytes SECTIONS FILE: of the sections whose name fits
bytes() { size -A -d "$2" | awk -v name="$1" '$1 ~ name {n += $2} END {print n + 0}'; }

# change NAME SECTIONS WHAT: how much larger they are with the option
change() {
	local more
	more=$(($(bytes "$2" "$BUILD/out/$1-on.o") - $(bytes "$2" "$BUILD/out/$1-off.o")))
	awk -v more="$more" -v whole="$(bytes "$2" "$off/vmlinux")" -v what="$3" \
		'BEGIN {printf "%s: %+d bytes, %+.3f %% of vmlinux'\''s %d\n", what, more, 100 * more / whole, whole}'
}

[ -d "$TREE/arch" ] || die "no kernel tree at $TREE: make apply makes it"
take_lock text
need_space "$BUILD" 3000 "make text"
export CCACHE_BASEDIR=$BUILD CCACHE_NOHASHDIR=1
off=$BUILD/out/text
build text "" vmlinux
mapfile -t objects < <(cd "$off" && { printf '%s\n' "${ALSO[@]}"; ar t vmlinux.a | while read -r object; do
	! nm "$object" 2>/dev/null | grep -E "$COPIES" > /dev/null || echo "$object"
done; } | sort -u)
{
	echo "make text: x86_64 defconfig, Linux $(kernel_version "$TREE"), $(gcc --version | head -1); counted"
	for option in "${OPTIONS[@]}"; do
		name=text-${option,,}
		added=()
		[ "$option" != X86_USERCOPY_VARIANTS ] || added=("${ADDED[@]}")
		build "$name" "$option" "${objects[@]}" "${added[@]}"
		(cd "$off" && ld -r -z noexecstack -o "$BUILD/out/$name-off.o" "${objects[@]}")
		(cd "$BUILD/out/$name" && ld -r -z noexecstack -o "$BUILD/out/$name-on.o" "${objects[@]}" "${added[@]}")
		printf '\n%s=y, of %d objects\n' "$option" "$((${#objects[@]} + ${#added[@]}))"
		change "$name" "$TEXT" "instructions"
		change "$name" '^__ex_table' "exception table"
		change "$name" '^\.altinst' "alternatives, freed after boot"
		echo "bloat-o-meter -t:"
		"$TREE/scripts/bloat-o-meter" -t "$BUILD/out/$name-off.o" "$BUILD/out/$name-on.o" |
			awk '/^add|^Function/ || (n && n < 9) {print "  " $0} /^Function/ || n {n++}'
	done
} > "$PAGE.tmp"
mv "$PAGE.tmp" "$PAGE"
cat "$PAGE"
