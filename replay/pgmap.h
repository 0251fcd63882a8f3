/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel side: the pgmap of a case. A shim includes this behind shim.h. */
#include <linux/memremap.h>

/* @used: pages of the altmap that hold a memmap */
static void make_pgmap(const struct replay_case *c, unsigned long used)
{
	const struct dev_pagemap pgmap = {
		.type = c->type ?: c->order ? MEMORY_DEVICE_GENERIC : MEMORY_DEVICE_FS_DAX,
		.flags = c->altmap ? PGMAP_ALTMAP_VALID : 0,
		.vmemmap_shift = c->order,
		.nr_range = 1,
		.altmap = {
			.base_pfn = c->start_pfn,
			.end_pfn = c->start_pfn + c->nr_pages - 1,
			.reserve = c->reserve,
			.free = c->offset,
			.alloc = used,
		},
	};
	unsigned long i;

	BUILD_BUG_ON(sizeof(pgmap) > sizeof(replay_pgmap));
	for (i = 0; i < sizeof(pgmap) / sizeof(long); i++)
		WRITE_ONCE(replay_pgmap[i], ((const unsigned long *)&pgmap)[i]);
}
