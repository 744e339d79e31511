#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Makes HTML: these pages in build/docs, and by the kernel's own `make htmldocs` the folders of the
# pages that the patches change in build/kernel-docs. A warning about one of these pages is an
# error; mainline has others.
. "$(dirname "$0")/lib.sh"

"$VENV/bin/sphinx-build" -W --keep-going -q "$ROOT/Documentation" "$BUILD/docs"
say "$BUILD/docs/index.html"
# Not the indexes: they name pages of folders that are not built here
mapfile -t pages < <(sed -n 's|^+++ b/Documentation/\(.*\.rst\).*|\1|p' "$QUILT_PATCHES"/*/*.patch |
	grep -v /index.rst | sort -u)
mapfile -t folders < <(printf '%s\n' "${pages[@]}" | sed -E 's,^(arch/[^/]*|[^/]*)/.*,\1,' |
	sort -u)
log=$BUILD/kernel-docs.log
say "the kernel's folders ${folders[*]} (2 to 5 minutes)"
PATH=$VENV/bin:$PATH make -C "$TREE" O="$BUILD/kernel-docs" SPHINXDIRS="${folders[*]}" \
	htmldocs > "$log" 2>&1 ||
	die "the kernel's pages do not build; see $log"
for page in "${pages[@]}"; do
	! grep -F "$TREE/Documentation/$page:" "$log" || die "a warning about the kernel's page $page"
	[ -f "$BUILD/kernel-docs/Documentation/output/${page%.rst}.html" ] ||
		die "the kernel's page $page was not made"
	say "$BUILD/kernel-docs/Documentation/output/${page%.rst}.html"
done
