/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the boot replay tell each other, on top of ../replay.h:
 * only plain C types may cross this line.
 */
#ifndef REPLAY_BOOT_H
#define REPLAY_BOOT_H

#include "../replay.h"

/* Which function runs. */
enum boot_what {
	BOOT_DEFERRED,		/* deferred_init_memmap(): initialise and free */
	BOOT_RESERVED,		/* memblock_free_all(): reserved memory */
	BOOT_ONLINE,		/* online_pages(), for each memory block */
	NR_BOOT
};

#define BOOT_MAX_RESERVED	16

/* One call. Of the replay_case, only the range, the node and the poison matter. */
struct boot_case {
	struct replay_case;
	enum boot_what what;
	unsigned int zone;		/* number of the zone */
	unsigned int checked;		/* as check_pages= of the command line */
	/* BOOT_ONLINE: the size of a block, what its start holds of the memmap. */
	unsigned long block_pages;
	unsigned long memmap_pages;
	unsigned int callback;		/* a driver decides page by page */
	/* BOOT_RESERVED: how many pages, from start_pfn on, are of a lower zone, and of which. */
	unsigned long lower_pages;
	unsigned int lower_zone;
	/* Memory that is not free, from one pfn to another. */
	unsigned int nr_reserved;
	unsigned long reserved[BOOT_MAX_RESERVED][2];
};

/* One kernel. side.prepare and side.bind are not there; side.set_cpus is for BOOT_DEFERRED. */
struct boot_side {
	struct replay_side side;
	/*
	 * Zone, pageblock bitmaps and counters lie in @state, at one address for
	 * all kernels. Fills them, memblock, and the entries of reserved memory.
	 */
	void (*prepare)(const struct boot_case *c, void *state);
	void (*run)(const struct boot_case *c);
	/* EVENT_FREE_BLOCK for each block on a free list, in order; returns how many pages. */
	unsigned long (*walk)(const struct boot_case *c);
	unsigned long state_size;	/* bytes */
	unsigned long block_pages;	/* of MAX_PAGE_ORDER */
	unsigned long pageblock_pages;
	unsigned int zones[2];		/* ZONE_NORMAL, ZONE_MOVABLE */
	unsigned long lru;		/* where a struct page has its list head */
};

#endif
