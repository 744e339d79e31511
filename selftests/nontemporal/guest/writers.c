// SPDX-License-Identifier: GPL-2.0
/*
 * Writers that each fill a new file of their own, record after record, at the
 * same time: the shape of iozone -i 0 -t 4. Nothing is written to the device
 * meanwhile, and the caches are empty at the start. Settings: writers=, record=
 * (bytes), file_kib= (of each file), fs=ext4|tmpfs, perturb=, and nontemporal=,
 * for vm.nontemporal_write where the kernel has it, 2:4096 with its minimum. With
 * noreuse=1 the writers say POSIX_FADV_NOREUSE. With pressure=1 the data is written
 * back meanwhile, and pages are reclaimed.
 *
 * Workload bystander: the same in laps, and between two of them somebody else, on a
 * CPU of its own, reads memory of its own once, as once before and once at the end.
 * writers=0 is the bystander alone. More settings: laps=, bystander_kib=.
 *
 * Workload writes: 1 byte, 512 and 4096 bytes of a file in the page cache, written
 * again and again. Settings: calls= (of each), fs=, nontemporal=.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "guest.h"

#define WRITERS_LABEL	1
#define BYSTANDER_LABEL	2
#define BLOCK		4096

/* /disk is the file system that is to be on the RAM disk: number, block, ... */
static void make_disk(void)
{
	int disk = must(open("/dev/ram0", O_WRONLY), "/dev/ram0");
	FILE *file = fopen("/disk", "r");
	unsigned long block;
	char data[BLOCK];

	if (!file)
		fail_errno("the RAM disk");
	while (fread(&block, sizeof(block), 1, file) == 1) {
		if (fread(data, BLOCK, 1, file) != 1 ||
		    pwrite(disk, data, BLOCK, block * BLOCK) != BLOCK)
			fail_errno("a block of the RAM disk");
	}
	if (fsync(disk) || close(disk))
		fail_errno("the RAM disk");
	fclose(file);
}

static void mount_fs(const char *fs)
{
	if (!strcmp(fs, "ext4"))
		make_disk();
	else if (strcmp(fs, "tmpfs"))
		fail("fs=%s: ext4 or tmpfs is wanted", fs);
	/* ext4 would go on making its inode tables while it is counted */
	mount_at("/dev/ram0", fs, "/mnt", strcmp(fs, "ext4") ? "" : "noinit_itable");
	/* No writeback while it is counted, see press() */
	write_file("/proc/sys/vm/dirty_background_ratio", "90");
	write_file("/proc/sys/vm/dirty_ratio", "95");
	write_file("/proc/sys/vm/dirty_writeback_centisecs", "0");
}

/*
 * Writeback from 1 MiB of dirty data on; reclaim when so many bytes are used. kswapd's watermark is
 * 30 % of the memory above the one of min_free_kbytes, which is for others to use meanwhile.
 */
static void press(long bytes)
{
	struct sysinfo info;
	char text[32];

	write_file("/proc/sys/vm/dirty_background_bytes", "1048576");
	write_file("/proc/sys/vm/watermark_scale_factor", "3000");
	must(sysinfo(&info), "sysinfo");
	snprintf(text, sizeof(text), "%ld",
		 (long)(info.freeram - info.totalram / 10 * 3 - bytes) >> 10);
	write_file("/proc/sys/vm/min_free_kbytes", text);
}

/* How many pages were reclaimed, or written back */
static long vmstat(const char *name)
{
	FILE *file = fopen("/proc/vmstat", "r");
	char key[64];
	long value;

	if (!file)
		fail_errno("/proc/vmstat");
	while (fscanf(file, "%63s %ld", key, &value) == 2 && strcmp(key, name))
		;
	fclose(file);
	return value;
}

static void set_nontemporal(void)
{
	const char *setting = parameter("nontemporal", "none");
	char text[64], *least;

	if (!strcmp(setting, "none"))
		return;
	snprintf(text, sizeof(text), "%s", setting);
	write_file("/proc/sys/vm/nontemporal_write", strtok(text, ":"));
	least = strtok(NULL, ":");
	if (least)
		write_file("/proc/sys/vm/nontemporal_write_min", least);
}

static void name_of(char *path, size_t size, long writer)
{
	snprintf(path, size, "/mnt/file%ld", writer);
}

static void write_records(int fd, const char *buffer, long record, long bytes)
{
	for (long at = 0; at < bytes; at += record) {
		cachemodel_unit(WRITERS_LABEL);
		if (write(fd, buffer, record) != record)
			fail_errno("write of a record");
	}
}

/* In each lap waits for a byte from start, writes, and says so to ready; then stays */
static void writer(long which, const char *buffer, long record, long bytes,
		   long laps, int start, int ready)
{
	char path[32], byte;
	int fd;

	name_of(path, sizeof(path), which);
	pin(which % sysconf(_SC_NPROCESSORS_ONLN));
	fd = must(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), path);
	if (number("noreuse", 0, 1, 0) && posix_fadvise(fd, 0, 0, POSIX_FADV_NOREUSE))
		fail("POSIX_FADV_NOREUSE is refused");
	if (write(ready, "r", 1) != 1)
		fail_errno("start of a writer");
	while (laps--) {
		if (read(start, &byte, 1) != 1)
			fail_errno("start of a lap");
		write_records(fd, buffer, record, bytes);
		if (write(ready, "d", 1) != 1)
			fail_errno("end of a lap");
	}
	for (;;)
		pause();
}

static void wait_for(int ready, long writers)
{
	char byte;

	while (writers--) {
		if (read(ready, &byte, 1) != 1)
			fail_errno("wait for a writer");
	}
}

/* What is written must stay in memory and below the limit of dirty pages */
static void check_size(long count, long record, long bytes)
{
	struct sysinfo info;
	long most;

	must(sysinfo(&info), "sysinfo");
	most = info.totalram / 2 >> 20;
	if (count * ((bytes + record) >> 20) > most)
		fail("%ld writers of %ld MiB are more than half the memory, %ld MiB",
		     count, bytes >> 20, most);
}

/* One more lap of all writers */
static void lap(int start, int ready, long count)
{
	cachemodel_begin_all(WRITERS_LABEL);
	if (write(start, "gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg",
		  count) != count)
		fail_errno("start of the writers");
	wait_for(ready, count);
	cachemodel_end_all(WRITERS_LABEL);
}

static void bystand(const char *start, long bytes)
{
	cachemodel_begin(BYSTANDER_LABEL);
	cachemodel_unit(BYSTANDER_LABEL);
	for (long at = 0; at < bytes; at += LINE)
		(void)*(const volatile char *)(start + at);
	cachemodel_end(BYSTANDER_LABEL);
}

/* Writes in so many laps; bystander: what is read before and after each, or none */
static void write_files(long laps, const char *bystander, long bystander_bytes)
{
	long count = number("writers", bystander ? 0 : 1, 64, 4);
	long record = number("record", 1, 64 << 20, 4096);
	long bytes = number("file_kib", 1, 1 << 19, 16384) << 10;
	const char *fs = parameter("fs", "ext4");
	long records = bytes / record / laps, pressure = number("pressure", 0, 1, 0);
	long reclaimed, written;
	int start[2], ready[2];
	char path[32], *buffer;

	if (!records)
		fail("file_kib= is less than one record of a lap");
	check_size(count, record, bytes);
	report("label %d writers", WRITERS_LABEL);
	perturb_memory();
	mount_fs(fs);
	set_nontemporal();
	must(pipe(start), "pipe");
	must(pipe(ready), "pipe");
	for (long i = 0; i < count; i++) {
		buffer = memory(record, 'a' + i % 26);
		tag_buffer(buffer, record);
		if (!must(fork(), "fork of a writer"))
			writer(i, buffer, record, records * record, laps, start[0], ready[1]);
	}
	keep_children();
	wait_for(ready[0], count);
	report("progress %ld writers of %ld-byte records on %s", count, record, fs);
	settle();
	if (pressure)
		press(count * bytes / 2);
	reclaimed = vmstat("pgsteal_kswapd");
	written = vmstat("nr_written");
	cachemodel_clear();
	if (bystander)
		bystand(bystander, bystander_bytes);
	for (long i = 0; i < laps; i++) {
		lap(start[1], ready[0], count);
		if (bystander)
			bystand(bystander, bystander_bytes);
	}
	reclaimed = vmstat("pgsteal_kswapd") - reclaimed;
	written = vmstat("nr_written") - written;
	report("progress %ld pages were reclaimed, %ld written back", reclaimed, written);
	if (pressure && (!reclaimed || !written))
		fail("pressure=1: %ld pages were reclaimed, %ld written back", reclaimed, written);
	for (long i = 0; i < count; i++) {
		name_of(path, sizeof(path), i);
		tag_file(path);
	}
	load("kinds");
	done();
}

static void writers(void)
{
	pin(0);
	write_files(1, NULL, 0);
}

static void bystander(void)
{
	long bytes = number("bystander_kib", 1, 1 << 18, 4096) << 10;
	long laps = number("laps", 1, 1000, 8);
	char *own = memory(bytes, 1);

	report("label %d bystander", BYSTANDER_LABEL);
	pin(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	write_files(laps, own, bytes);
}

/* A label has to be a constant: a function of its own for each */
#define COUNT_WRITE(label, size)						\
static void write_##size(long calls, int fd, const char *buffer)		\
{										\
	report("label %d write_" #size, label);					\
	must(pwrite(fd, buffer, size, 0), "write to a file");			\
	settle();								\
	while (calls--) {							\
		cachemodel_begin(label);					\
		cachemodel_unit(label);						\
		if (pwrite(fd, buffer, size, 0) != size)			\
			fail_errno("write to a file");				\
		cachemodel_end(label);						\
	}									\
}
COUNT_WRITE(1, 1)
COUNT_WRITE(2, 512)
COUNT_WRITE(3, 4096)

static void writes(void)
{
	long calls = number("calls", 1, 100000, 100);
	const char *fs = parameter("fs", "ext4"), *buffer = memory(BLOCK, 1);
	int fd;

	pin(0);
	mount_fs(fs);
	set_nontemporal();
	fd = must(open("/mnt/file", O_WRONLY | O_CREAT, 0600), "/mnt/file");
	must(pwrite(fd, buffer, BLOCK, 0), "write to a file");
	report("progress writes to a file on %s, %ld of each", fs, calls);
	write_1(calls, fd, buffer);
	write_512(calls, fd, buffer);
	write_4096(calls, fd, buffer);
	done();
}

WORKLOAD(writers, writers);
WORKLOAD(bystander, bystander);
WORKLOAD(writes, writes);
