// SPDX-License-Identifier: GPL-2.0
/*
 * The non-temporal stores of x86-64: movnti (0f c3), movntps, movntpd, movntss
 * and movntsd (0f 2b), movntq and movntdq (0f e7), maskmovq and maskmovdqu
 * (0f f7), and the VEX forms of the last three. The EVEX forms are not decoded:
 * TCG has no AVX-512.
 */
#include "model.h"

static bool is_legacy_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 ||
	       byte == 0xf0 || (byte & 0xe7) == 0x26 || (byte & 0xfe) == 0x64;
}

static bool is_vex_opcode(uint8_t opcode)
{
	return opcode == 0x2b || opcode == 0xe7 || opcode == 0xf7;
}

bool is_nt_store(const uint8_t *code, size_t size)
{
	const uint8_t *end = code + size;

	while (code < end && is_legacy_prefix(*code))
		code++;
	if (end - code >= 4 && *code == 0xc5)
		return is_vex_opcode(code[2]);
	if (end - code >= 5 && *code == 0xc4 && (code[1] & 0x1f) == 1)
		return is_vex_opcode(code[3]);
	if (code < end && (*code & 0xf0) == 0x40)	/* REX */
		code++;
	if (end - code < 3 || *code != 0x0f)
		return false;
	return code[1] == 0xc3 || is_vex_opcode(code[1]);
}
