// SPDX-License-Identifier: GPL-2.0
/* The bytes of the sites, of their stubs, and of the function that goes through them. */
#include <string.h>

#include "sites.h"

#define PITCH	512	/* from site to site; the last one goes over the end of the page */

/* Over and beside the borders of 8, 16, 32 and 64 bytes */
static const uint16_t offsets4[SITES] = { 0, 6, 13, 29, 60, 61, 62, 511 };
static const uint16_t offsets8[SITES] = { 0, 5, 11, 27, 55, 59, 62, 511 };

/* Those that a function may change, but rdi; the 4-byte form takes the first four, without REX */
static const uint8_t registers[SITES] = { 0, 1, 2, 6, 8, 9, 10, 11 };

struct site sites[SITES];

void put_jmp(uint8_t *to, int32_t distance)
{
	to[0] = 0xe9;
	memcpy(to + 1, &distance, sizeof(distance));
}

void put_nop(uint8_t *to)
{
	memcpy(to, "\x0f\x1f\x44\x00\x00", MAX_SLOT - HEAD);
}

void put_mov(uint8_t *to, uint8_t reg, uint64_t value, unsigned int form)
{
	if (form == 8)
		*to++ = 0x48 | reg >> 3;
	*to++ = 0xb8 | (reg & 7);
	memcpy(to, &value, form);
}

/* mov variable(%rip), %reg; jmp behind the slot */
static void put_stub(const struct site *site, uint8_t *variable, unsigned int form)
{
	uint8_t *to = site->slot + HEAD + TO_STUB;
	int32_t distance;

	if (form == 8)
		*to++ = 0x48 | site->reg >> 3 << 2;
	*to++ = 0x8b;
	*to++ = 0x05 | (site->reg & 7) << 3;
	distance = variable - (to + sizeof(distance));
	memcpy(to, &distance, sizeof(distance));
	to += sizeof(distance);
	put_jmp(to, site->slot + (form == 8 ? MAX_SLOT : HEAD) - (to + HEAD));
}

/* The slot; mov %reg, 8 * i(%rdi); jmp to the next site, or ret */
static void put_site(unsigned int i, unsigned int form)
{
	uint8_t *to = sites[i].slot;

	put_jmp(to, TO_STUB);
	to += HEAD;
	if (form == 8) {
		put_nop(to);
		to += MAX_SLOT - HEAD;
	}
	*to++ = 0x48 | sites[i].reg >> 3 << 2;
	*to++ = 0x89;
	*to++ = 0x47 | (sites[i].reg & 7) << 3;
	*to++ = 8 * i;
	if (i == SITES - 1)
		*to = 0xc3;
	else
		put_jmp(to, sites[i + 1].slot - (to + HEAD));
}

void put_code(uint8_t *alias, unsigned int form)
{
	const uint16_t *offsets = form == 8 ? offsets8 : offsets4;

	memset(alias, INT3, VARIABLE);
	for (unsigned int i = 0; i < SITES; i++) {
		sites[i].slot = alias + i * PITCH + offsets[i];
		sites[i].code = CODE + i * PITCH + offsets[i];
		sites[i].reg = registers[form == 8 ? i : i % 4];
	}
	for (unsigned int i = 0; i < SITES; i++) {
		put_site(i, form);
		put_stub(&sites[i], alias + VARIABLE, form);
	}
}
