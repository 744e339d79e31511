#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# guest.sh DIRECTORY: the guest's part of test_klp.py, prints KTAP. The directory has the target
# module and the live patch. Each reader of a value is asked before, while and after it is patched.
dir=$1
foo=/sys/kernel/kobject_example/foo
value=/sys/kernel/klp_value
live=/sys/kernel/livepatch/live
PATH=$PATH:/usr/sbin:/sbin

# reads NAME FOO VALUE: what the module's value and that of vmlinux are read as
reads() {
	found="$(cat $foo) $(cat $value)"
	[ "$found" = "$2 $3" ]
	status=$?
	[ $status = 0 ] || echo "# $1: '$found', '$2 $3' expected"
	ktap_test_result "$1" [ $status = 0 ]
}

# sites: how many places that read the value of vmlinux are patched
sites() {
	awk '$3 == "klp_value__imv" { print $2 }' /sys/kernel/debug/imv/values
}

# wait_for COMMAND...: up to 60 s until it succeeds
wait_for() {
	for _ in $(seq 600); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

patched_all() {
	[ "$(cat $live/transition)" = 0 ]
}

gone() {
	[ ! -e $live ]
}

# shellcheck source=/dev/null
. "$KTAP_HELPERS"
ktap_print_header
ktap_set_plan 7
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
insmod "$dir/kobject-example.ko" || exit
echo 7 >$foo
echo 5000 >$value
before=$(sites)
reads original 7 5000

insmod "$dir/live.ko" && wait_for patched_all
ktap_test_result loaded [ $? = 0 ]
reads patched 8 5001
echo 9 >$foo
echo 6000 >$value
reads set_while_patched 10 6001

rmmod kobject_example && insmod "$dir/kobject-example.ko"
reads target_loaded_again 1 6001
# The live patch's read of vmlinux's value is a site as any other
[ "$(sites)" = $((before + 1)) ]
ktap_test_result site_counted [ $? = 0 ]

echo 0 >$live/enabled && wait_for gone && rmmod live
reads unloaded 0 6000
