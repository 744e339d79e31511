# SPDX-License-Identifier: GPL-2.0
# What apply.sh and unapply.sh know of a tree: whose queue is on it, what was pushed, and how to undo. Sourced, never run.
# shellcheck shell=bash

UNDO=$TREE/.cache-footprint.undo	# originals of the touched files while quilt pushes
RECORD=$TREE/.pc/.cache-footprint	# what was pushed: series hash, then the sums of the touched files
SERIES_FILE=$BUILD/series/${GROUP:-all}

# foreign_queue: whether the tree carries another quilt queue (Debian's, SUSE's, the user's own). quilt notes where
# the patches are as it was told, relative to the tree. A tree with our record stays ours when the repository moved.
foreign_queue() {
	if [ -f "$RECORD" ]; then
		printf '%s\n' "$QUILT_PATCHES" > "$TREE/.pc/.quilt_patches"
		return 1
	elif [ -f "$TREE/.pc/.quilt_patches" ]; then
		[ "$(cd "$TREE" && realpath -m -- "$(cat .pc/.quilt_patches)")" != "$(realpath -m -- "$QUILT_PATCHES")" ]
	else
		[ -e "$TREE/patches" ] || { [ -d "$TREE/.pc" ] && [ -s "$TREE/.pc/applied-patches" ]; }
	fi
}

applied_patches() { cat "$TREE/.pc/applied-patches" 2>/dev/null || true; }

# applied_hash: the series hash that was recorded when the push was complete, if the tree still stands there
applied_hash() {
	[ -f "$RECORD" ] && [ "$(applied_patches)" = "$(sed -n 's/^patch //p' "$RECORD")" ] || return 0
	sed -n 's/^hash //p' "$RECORD"
}

# write_series GROUP: the order for quilt. The whole series is the queue's own file; a group gets a list of its own.
write_series() {
	mkdir -p "${SERIES_FILE%/*}"
	list_series "$1" > "$SERIES_FILE"
	[ -z "$1" ] || export QUILT_SERIES=$SERIES_FILE
}

quilt_push() { quilt push -a --fuzz=0; }

# touched_files: every path that the patches of SERIES_FILE touch, new ones too
touched_files() {
	local p
	while read -r p; do
		[ -f "$QUILT_PATCHES/$p" ] || die "series names $p, but there is no such file in $QUILT_PATCHES"
		patch_paths "$QUILT_PATCHES/$p"
	done < "$SERIES_FILE" | sort -u
}

# copy_touched FROM TO: those of the touched files that exist below FROM, with their directories
copy_touched() {
	local files
	files=$(touched_files)
	printf '%s\n' "$files" | while read -r f; do
		[ ! -e "$1/$f" ] || (cd "$1" && cp --parents -p "$f" "$2")
	done
}

# copy_unpatched TO: the touched files as they were before any push that stands on the tree now
copy_unpatched() {
	local patch f
	copy_touched "$TREE" "$1"
	[ -s "$TREE/.pc/applied-patches" ] || return 0
	tac "$TREE/.pc/applied-patches" | while read -r patch; do
		(cd "$TREE/.pc/$patch" && find . -type f ! -name .timestamp) | while read -r f; do
			mkdir -p "$1/$(dirname "$f")"
			# An empty backup is quilt's word for a file that was not there
			if [ -s "$TREE/.pc/$patch/$f" ]; then cp -p "$TREE/.pc/$patch/$f" "$1/$f"; else rm -f "$1/$f"; fi
		done
	done
}

save_originals() {
	local new=$UNDO.new
	rm -rf "$new"
	mkdir -p "$new/files"
	touched_files > "$new/list"
	copy_touched "$TREE" "$new/files"
	sync -f "$new" 2>/dev/null || true
	mv -T "$new" "$UNDO"
}

# roll_back: the tree as it was before save_originals
roll_back() {
	local f
	[ -d "$UNDO" ] || return 0
	while read -r f; do
		if [ -e "$UNDO/files/$f" ]; then
			cmp -s "$UNDO/files/$f" "$TREE/$f" || cp -p "$UNDO/files/$f" "$TREE/$f"
		else
			rm -f "$TREE/$f"
			rmdir -p --ignore-fail-on-non-empty "$(dirname "$TREE/$f")" 2>/dev/null || true
		fi
	done < "$UNDO/list"
	rm -rf "$TREE/.pc"
	rm -rf "$UNDO"
}

# recover: a push that was cut off without any chance to clean up is undone now
recover() {
	rm -rf "$UNDO.new"
	[ -d "$UNDO" ] || return 0
	warn "an earlier push was cut off: $TREE is put back first"
	roll_back
}

# sums: a hash of each touched file as it stands in the tree
sums() { (cd "$TREE" && while read -r f; do [ ! -f "$f" ] || sha256sum -- "$f"; done); }

# times: modification time (seconds), hash and path of each touched file
times() {
	(cd "$TREE" && while read -r f; do [ ! -f "$f" ] || echo "$(stat -c %.9Y -- "$f") $(sha256sum -- "$f")"; done)
}

# keep_times: reads what `times` printed before a push was taken off and made anew. A file that came out the same gets
# its time back, so that a new changelog does not compile the kernel again.
keep_times() {
	local time sum f
	while read -r time sum f; do
		[ ! -f "$TREE/$f" ] || [ "$(sha256 "$TREE/$f")" != "$sum" ] || touch -d "@$time" "$TREE/$f"
	done
}

# record_applied HASH: the push is complete. From here the tree counts as pushed.
record_applied() {
	{ echo "hash $1"; applied_patches | sed 's/^/patch /'; sums < "$UNDO/list" | sed 's/^/sum /'; } > "$RECORD.new"
	mv "$RECORD.new" "$RECORD"
	rm -rf "$UNDO"
}

# touched_as_recorded: whether no touched file was edited since the push
touched_as_recorded() {
	[ -f "$RECORD" ] || return 1
	sed -n 's/^sum //p' "$RECORD" | (cd "$TREE" && sha256sum --check --quiet --status 2>/dev/null)
}
