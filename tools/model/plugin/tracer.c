// SPDX-License-Identifier: GPL-2.0
/* The cache model without QEMU, as a library for test_plugin.py. */
#include "model.h"

static struct machine machine;

/* Begin with empty caches; NULL, or a message about the settings, whose last one is NULL */
const char *tracer_begin(int cpus, const char **settings)
{
	machine = (struct machine)MACHINE_DEFAULT;
	machine.cpus = cpus;
	for (; *settings; settings++)
		if (!machine_setting(&machine, *settings))
			return *settings;
	return machine_init(&machine);
}

/* In what an access missed, see machine_access(), and from bit 16 on the lines to memory */
unsigned int tracer_access(unsigned int cpu, enum access access, uint32_t line)
{
	return machine_access(&machine, cpu, line, access) | machine.writebacks << 16;
}
