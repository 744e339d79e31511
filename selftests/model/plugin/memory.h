/* SPDX-License-Identifier: GPL-2.0 */
/* Memory for large tables that are used here and there. */
#ifndef CACHEMODEL_MEMORY_H
#define CACHEMODEL_MEMORY_H

#include <stddef.h>

/* Zeroed, in huge pages where the system gives some; NULL if there is none */
void *table_new(size_t n, size_t size);

#endif
