#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# storm.sh SHIM ROUNDS SIZE SEED: the guest's part of test_storm.py, prints KTAP. fio writes and
# verifies on ext4 and xfs at once, SIZE for each of its files, while both sysctls change, 20 times
# a second, and memory is so short that pages are reclaimed.
shim=$1 rounds=$2 SIZE=$3 seed=$4
here=$(dirname "$0")
sysctl=/proc/sys/vm/nontemporal_write
disks="ext4 xfs"
export SIZE
PATH=$PATH:/usr/sbin:/sbin

count() {
	awk -v name="^$1" '$1 ~ name {n += $2} END {print n + 0}' /proc/vmstat
}

# said FILE: what a program said, as a comment
said() {
	sed 's/^/# /' "$1"
}

setup() {
	for disk in $disks; do
		truncate -s 320M "$disk.img" && mkdir "$disk" && "mkfs.$disk" -q "$disk.img" &&
			mount -o loop "$disk.img" "$disk" || return
	done
}

flip() {
	while :; do
		for least in 512 4096 16384; do
			echo $least >${sysctl}_min
			for mode in 0 1 2; do
				echo $mode >$sysctl
				sleep 0.05
			done
		done
	done
}

# write DISK: all rounds on a file system; the later ones find its files, in memory or not
write() {
	for round in $(seq "$rounds"); do
		DIRECTORY=/mnt/$1 LD_PRELOAD=$shim fio --output="$1.log" --minimal \
			--randseed="$seed$round" "$here/storm.fio" >"$1.err" 2>&1 || return
	done
	(cd "$1" && cksum ./*.0 >"../$1.sums")
}

# shellcheck source=/dev/null
. "$KTAP_HELPERS"
ktap_print_header
ktap_set_plan 7
# The disks are files of a tmpfs: what is left of memory is little
mount -t tmpfs -o size=90% none /mnt && cd /mnt || exit
setup >log 2>&1 || { said log; echo "Bail out! no file systems"; exit 1; }
bytes=$(count nontemporal_write_bytes) reclaimed=$(count 'pgsteal_(kswapd|direct)')
flip &
flipper=$!
write xfs &
writer=$!
write ext4
ktap_test_result fio_ext4 [ $? = 0 ]
wait $writer
ktap_test_result fio_xfs [ $? = 0 ]
kill $flipper
bytes=$(($(count nontemporal_write_bytes) - bytes))
reclaimed=$(($(count 'pgsteal_(kswapd|direct)') - reclaimed))
for disk in $disks; do
	said "$disk.err"
	umount "$disk"
	if [ "$disk" = ext4 ]; then e2fsck -fn ext4.img; else xfs_repair -n xfs.img; fi >log 2>&1
	status=$?
	ktap_test_result "fsck_$disk" [ $status = 0 ]
	[ $status = 0 ] || said log
	# What was verified in the page cache is on the disk
	mount -o loop "$disk.img" "$disk" && (cd "$disk" && cksum ./*.0 | cmp "../$disk.sums" -)
	ktap_test_result "disk_$disk" [ $? = 0 ]
done
echo "# nontemporal_write_bytes grew by $bytes; $reclaimed pages were reclaimed"
[ "$bytes" -gt $((rounds * 8 << 20)) ] && [ "$reclaimed" -gt 1000 ]
ktap_test_result engaged [ $? = 0 ]
