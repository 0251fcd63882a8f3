// SPDX-License-Identifier: GPL-2.0
/* A device: its pgmap, and its struct pages. */
#include <linux/memremap.h>

#include "kernel.h"

#ifdef CONFIG_ZONE_DEVICE
void make_pgmap(const struct memmap_case *c, unsigned long used)
{
	const struct dev_pagemap new = {
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

	BUILD_BUG_ON(sizeof(new) > sizeof(replay_pgmap));
	for (i = 0; i < sizeof(new) / sizeof(long); i++)
		WRITE_ONCE(replay_pgmap[i], ((const unsigned long *)&new)[i]);
}

void fill(unsigned long start_pfn, unsigned long nr_pages)
{
	memmap_init_zone_device(&state->pgdat.node_zones[ZONE_DEVICE], start_pfn, nr_pages, PGMAP);
}

void prepare_fill(const struct memmap_case *c)
{
	unsigned long nr = pfn_to_section_nr(c->start_pfn);

	make_pgmap(c, c->offset);
	if (c->early)
		for (; nr <= pfn_to_section_nr(c->start_pfn + c->nr_pages); nr++)
			if (c->early == EARLY_ALL || nr & 1)
				__nr_to_section(nr)->section_mem_map |= SECTION_IS_EARLY;
}
#endif
