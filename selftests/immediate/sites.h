/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sites of immediate values for protocol.c: generated code that reads one variable at SITES
 * places, each a slot of 5 bytes (4-byte form) or 10 bytes (8-byte form) with its stub.
 */
#ifndef SITES_H
#define SITES_H

#include <stdint.h>

#define SITES		8
#define HEAD		5	/* bytes of a jmp, and of what the int3 protocol writes */
#define MAX_SLOT	10
#define INT3		0xcc

/*
 * The sites, then their stubs at a fixed distance, then the variable in a page of its own.
 * Nothing else lies within 2 GiB, so that a torn jmp ends in a fault.  The lowest byte of the
 * distance is an int3, so that a REX.W before the rest of a jmp ends in a trap.
 */
#define CODE		0x100000000000UL
#define TO_STUB		0x20cc
#define VARIABLE	0x4000
#define SIZE		0x5000

struct site {
	uint8_t *slot;		/* where the writer writes it */
	uintptr_t code;		/* where the readers execute it */
	uint8_t reg;
};

extern struct site sites[SITES];

/* The two states of a slot: the jmp to the stub and a nop behind it, or the value */
void put_jmp(uint8_t *to, int32_t distance);
void put_nop(uint8_t *to);
void put_mov(uint8_t *to, uint8_t reg, uint64_t value, unsigned int form);

/*
 * Generate void code(uint64_t values[SITES]), which reads each site once, in the state jmp.
 * alias: of CODE, SIZE bytes, writable; fills in sites[].
 */
void put_code(uint8_t *alias, unsigned int form);

#endif
