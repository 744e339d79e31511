#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# kernel.sh NAME [FRAGMENT...]: configures and builds a bzImage and the modules from the tree
# (KDIR=, default build/linux) into build/out/NAME, with GROUP= into build/out/GROUP/NAME:
# tinyconfig plus the fragments in that order, by default those of configs/tests.toml
# (tools/groups.py says what a fragment is). The configuration is made anew only when the
# fragments changed, so that kbuild's menuconfig lasts. Runs kbuild each time: it knows best what is
# out of date.
# Honours CC, HOSTCC, LLVM, KBUILD_BUILD_TIMESTAMP and -j; ccache is used when CC is not set.
# The modules are installed to NAME/modules, as modprobe -d wants them. TARGETS= names other make
# targets than these.
# NAME/.series is the hash of the series in it, or none; there is no such file while a build is not
# whole.
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || die "usage: kernel.sh NAME [FRAGMENT...]"
name=$1
shift
tree=$TREE
out=$KERNELS/$name
mkdir -p "$out"
take_lock "kernel-$name"
kernel_version "$tree" >/dev/null || die "$tree is not a Linux source tree: run make base"

unset KVM	# kbuild has a directory of that name
flags=(-C "$tree" O="$out")
[ -n "${LLVM:-}" ] && flags+=(LLVM="$LLVM")
if [ -n "${CC:-}" ]; then
	flags+=(CC="$CC")
elif [ -z "${LLVM:-}" ] && command -v ccache >/dev/null 2>&1; then
	flags+=(CC="ccache gcc")
fi
[ -n "${HOSTCC:-}" ] && flags+=(HOSTCC="$HOSTCC")
case " ${MAKEFLAGS:-} " in
*jobserver*) ;;	# the caller's -j
*) flags+=(-j"${JOBS:-$(nproc)}") ;;
esac
export CCACHE_BASEDIR=$BUILD CCACHE_NOHASHDIR=1
export KBUILD_BUILD_TIMESTAMP=${KBUILD_BUILD_TIMESTAMP:-Thu Jan  1 00:00:00 UTC 1970}
# The image is the same bytes however often it was built
export KBUILD_BUILD_VERSION=${KBUILD_BUILD_VERSION:-1}
export KBUILD_BUILD_USER=${KBUILD_BUILD_USER:-user} KBUILD_BUILD_HOST=${KBUILD_BUILD_HOST:-host}

rm -f "$out/.series"
# A file that was being written when a build was killed may be half of itself, which make takes for
# whole: what is of the last ten seconds of such a build goes
written=(find "$out" "(" -path "$out/kselftest*" -o -path "$out/fragments" -o -name ".config*" ")"
	-prune -o -type f)
if [ -f "$out/.building" ]; then
	newest=$("${written[@]}" -printf '%T@\n' | sort -n | tail -n 1)
	"${written[@]}" -newermt "@$((${newest%.*} - 10))" -exec rm -f {} +
fi
groups=("$ROOT/tools/run" tools.groups)
fragments=("$@")
if [ $# -eq 0 ]; then
	found=$("${groups[@]}" kernel "$name")
	mapfile -t fragments <<< "$found"
fi

configure() {
	local stamp=$out/.configured hash found lost
	found=$("${groups[@]}" fragments "$tree" "$out/fragments" "${fragments[@]}")
	mapfile -t files <<< "$found"
	hash=$(cat "${files[@]}" | sha256sum | cut -c1-16)
	if [ "$(cat "$stamp" 2>/dev/null)" = "$hash" ] && [ -f "$out/.config" ]; then
		make -s "${flags[@]}" olddefconfig >/dev/null || die "olddefconfig failed in $out"
		lost=$("${groups[@]}" lost "$out/.config" "${files[@]}")
		[ -z "$lost" ] || warn "$name goes without $(echo "$lost" | xargs)"
	else
		{ make -s "${flags[@]}" tinyconfig &&
		  "$tree/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" "${files[@]}" &&
		  make -s "${flags[@]}" olddefconfig; } > "$out/configure.log" 2>&1 ||
			die "the configuration of $name failed; see $out/configure.log"
		lost=$("${groups[@]}" lost "$out/.config" "${files[@]}")
		[ -z "$lost" ] || die "configs: Kconfig did not take: $(echo "$lost" | xargs)"
		echo "$hash" > "$stamp"
	fi
}

trap 'warn "interrupted; run it again to continue"; exit 130' INT TERM
configure
start=$SECONDS
touch "$out/.building"
# One line for each 200 compiled files on a pipe, kbuild's own output in the log
read -ra targets <<< "${TARGETS:-bzImage}"
modules=
if [ -z "${TARGETS:-}" ] && grep -qx CONFIG_MODULES=y "$out/.config"; then
	modules=yes targets+=(modules)
fi
progress='/^  (CC|AS|LD)/ {n++}
n && n % 200 == 0 && n != last {print "  " name ": " n " files built"; last = n; fflush()}'
if ! make "${flags[@]}" "${targets[@]}" 2> "$out/build.err" \
	> >(tee "$out/build.log" | awk -v name="$name" "$progress"); then
	grep -E 'error|Error|No space' "$out/build.err" | head -5 >&2 || true
	die "the build of $name failed; see $out/build.err"
fi
[ ! -s "$out/build.err" ] || cat "$out/build.err" >&2
# Made anew: no module of an earlier build stays
[ -n "${TARGETS:-}" ] || rm -rf "$out/modules"
if [ -n "$modules" ]; then
	make -s "${flags[@]}" modules_install INSTALL_MOD_PATH="$out/modules" INSTALL_MOD_STRIP=1 \
		> "$out/modules.log" 2>&1 ||
		die "the modules of $name cannot be installed; see $out/modules.log"
	cat "$out/modules.log" >&2
fi
# What the image was made of, for results that name it (tools/tree/apply.py has the record)
{ sed -n 's/^hash //p' "$tree/.pc/.cache-footprint" 2>/dev/null || echo none; } > "$out/.series"
rm -f "$out/.building"
say "$name is built ($(( (SECONDS - start + 30) / 60 )) min): $out"
