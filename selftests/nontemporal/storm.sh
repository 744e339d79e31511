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

number=0
# result NAME STATUS: a test that passed if the status is 0
result() {
	number=$((number + 1))
	[ "$2" = 0 ] || printf 'not '
	echo "ok $number $1"
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

echo KTAP version 1
echo 1..8
# The disks are files of a tmpfs: what is left of memory is little
mount -t tmpfs -o size=90% none /mnt && cd /mnt || exit
setup >log 2>&1 || { said log; echo "Bail out! no file systems"; exit 1; }
bytes=$(count nontemporal_write_bytes) reclaimed=$(count 'pgsteal_(kswapd|direct)')
flip &
flipper=$!
write xfs &
writer=$!
write ext4
result fio_ext4 $?
wait $writer
result fio_xfs $?
kill $flipper
bytes=$(($(count nontemporal_write_bytes) - bytes))
reclaimed=$(($(count 'pgsteal_(kswapd|direct)') - reclaimed))
for disk in $disks; do
	said "$disk.err"
	umount "$disk"
	if [ "$disk" = ext4 ]; then e2fsck -fn ext4.img; else xfs_repair -n xfs.img; fi >log 2>&1
	status=$?
	result "fsck_$disk" $status
	[ $status = 0 ] || said log
	# What was verified in the page cache is on the disk
	mount -o loop "$disk.img" "$disk" && (cd "$disk" && cksum ./*.0 | cmp "../$disk.sums" -)
	result "disk_$disk" $?
done
"$here/disk.py" ext4 16m >log 2>&1 && [ "$(wc -l <log)" = 6 ]
status=$?
said log
result disk_py $status
echo "# nontemporal_write_bytes grew by $bytes; $reclaimed pages were reclaimed"
[ "$bytes" -gt $((rounds * 8 << 20)) ] && [ "$reclaimed" -gt 1000 ]
result engaged $?
