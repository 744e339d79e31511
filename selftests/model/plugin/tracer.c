// SPDX-License-Identifier: GPL-2.0
/*
 * The cache model without QEMU: reads accesses, one a line, and prints for each
 * in how many levels it missed, how many lines were written to memory and, as
 * bits, which of the further caches it missed in.
 *
 *   tracer CPUS L1D-SIZE:WAYS L2-SIZE:WAYS LLC-SIZE:WAYS lru|fifo evict|keep
 *          [1|2:SIZE:WAYS]...
 *
 * Sizes in bytes, 0 ways for fully associative; 1 or 2 is the level of a further
 * cache. A line is "CPU OP LINE" with OP
 * r, w or n (non-temporal store).
 */
#include <stdio.h>
#include <string.h>

#include "hierarchy.h"

static int wrong(const char *what)
{
	fprintf(stderr, "tracer: %s\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	struct machine machine = {};
	unsigned int cpu, line, missed;
	enum access access;
	enum level level;
	const char *error;
	char op;

	if (argc < 7 || argc > 7 + MAX_FURTHER || sscanf(argv[1], "%d", &machine.cpus) != 1 ||
	    machine.cpus < 1 || machine.cpus > MAX_CPUS)
		return wrong("wants CPUS, three caches, lru or fifo, evict or keep, further caches");
	if ((strcmp(argv[5], "lru") && strcmp(argv[5], "fifo")) ||
	    (strcmp(argv[6], "evict") && strcmp(argv[6], "keep")))
		return wrong("the policy is lru or fifo, then evict or keep");
	for (level = L1D; level < LEVELS; level++) {
		struct geometry *geometry = &machine.geometry[level];

		if (sscanf(argv[2 + level], "%lu:%u", &geometry->size, &geometry->ways) != 2)
			return wrong("a cache is SIZE:WAYS");
		geometry->fifo = !strcmp(argv[5], "fifo");
	}
	machine.nt_keep = !strcmp(argv[6], "keep");
	for (; machine.n_further < argc - 7; machine.n_further++) {
		struct further *further = &machine.further[machine.n_further];
		unsigned int number;

		if (sscanf(argv[7 + machine.n_further], "%u:%lu:%u", &number,
			   &further->geometry.size, &further->geometry.ways) != 3 ||
		    number < 1 || number > 2)
			return wrong("a further cache is 1|2:SIZE:WAYS");
		further->level = number == 1 ? L1D : L2;
	}
	error = machine_init(&machine, &level);
	if (error)
		return wrong(error);
	while (scanf("%u %c %u", &cpu, &op, &line) == 3) {
		if (cpu >= (unsigned int)machine.cpus || line >= RAM_LINES ||
		    !strchr("rwn", op))
			return wrong("an access is CPU r|w|n LINE");
		access = op == 'r' ? LOAD : op == 'w' ? STORE : STORE_NT;
		missed = machine_access(&machine, cpu, line, access);
		printf("%u %u %u\n", missed, machine.writebacks, machine.further_missed);
	}
	return feof(stdin) ? 0 : wrong("an access is CPU r|w|n LINE");
}
