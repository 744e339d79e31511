// SPDX-License-Identifier: GPL-2.0
/*
 * The cache model without QEMU: reads accesses, one a line, and prints for each
 * in how many levels it missed and how many lines were written to memory.
 *
 *   tracer CPUS L1D-SIZE:WAYS L2-SIZE:WAYS LLC-SIZE:WAYS lru|fifo evict|keep
 *
 * Sizes in bytes, 0 ways for fully associative. A line is "CPU OP LINE" with OP
 * r, w or n (non-temporal store).
 */
#include <stdio.h>
#include <string.h>

#include "hierarchy.h"

int main(int argc, char **argv)
{
	struct machine machine = {};
	unsigned int cpu, line, missed;
	enum access access;
	enum level level;
	const char *error;
	char op;

	if (argc != 7 || sscanf(argv[1], "%d", &machine.cpus) != 1 ||
	    machine.cpus < 1 || machine.cpus > MAX_CPUS)
		return 2;
	for (level = L1D; level < LEVELS; level++) {
		struct geometry *geometry = &machine.geometry[level];

		if (sscanf(argv[2 + level], "%lu:%u", &geometry->size, &geometry->ways) != 2)
			return 2;
		geometry->fifo = !strcmp(argv[5], "fifo");
	}
	machine.nt_keep = !strcmp(argv[6], "keep");
	error = machine_init(&machine, &level);
	if (error) {
		fprintf(stderr, "tracer: %s\n", error);
		return 1;
	}
	while (scanf("%u %c %u", &cpu, &op, &line) == 3) {
		if (cpu >= (unsigned int)machine.cpus || line >= RAM_LINES)
			return 2;
		access = op == 'r' ? LOAD : op == 'w' ? STORE : STORE_NT;
		missed = machine_access(&machine, cpu, line, access);
		printf("%u %u\n", missed, machine.writebacks);
	}
	return 0;
}
