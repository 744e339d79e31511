/* SPDX-License-Identifier: GPL-2.0 */
/* Which instructions store past the caches. */
#ifndef CACHEMODEL_NT_H
#define CACHEMODEL_NT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the stores of the instruction in code, size bytes, are non-temporal */
bool is_nt_store(const uint8_t *code, size_t size);

#endif
