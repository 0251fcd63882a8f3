/* SPDX-License-Identifier: GPL-2.0 */
/* What the two halves of the program `memmap` tell each other, on top of ../replay.h. */
#ifndef REPLAY_MEMMAP_H
#define REPLAY_MEMMAP_H

#include "../replay.h"

enum memmap_what {
#define WHAT(token, name, words, unit, runs, lacks) WHAT_##token,
#include "whats.h"
#undef WHAT
	NR_WHATS
};

/*
 * The parts of a bind; all else is one part. To compare, also what moves the range to its zone, the
 * last part while somebody holds a page, and all of it once more, in memory that was used and
 * returned. Where memory is scarce, that may end otherwise than in base: it is in other pieces.
 */
enum memmap_part {
	PART_MAP, PART_FILL, PART_UNMAP, NR_PARTS, PART_MOVE, PART_UNMAP_HELD, PART_AGAIN
};

/* Which sections count as early ones. */
enum memmap_early { EARLY_NONE, EARLY_ALL, EARLY_ODD, NR_EARLY };
enum memmap_poison { POISON_ONES, POISON_ZERO, POISON_RANDOM, NR_POISON };

#define STALE		0x5a5a5a5a5a5a5a5aUL	/* each word of memory that another user had */

/* Who has reserved memory: memblock alone, areas of CMA, kexec handover. */
enum memmap_owner { OWNER_MEMBLOCK, OWNER_CMA, OWNER_KHO, NR_OWNERS };

#define MAX_RESERVED	16
#define MAX_STEPS	64

/* What pages of a block are used for once it is online. */
enum memmap_use {
	USE_NOTHING,
	USE_MOVABLE,		/* they go elsewhere */
	USE_STUCK,		/* they cannot go elsewhere, until a signal is pending */
	USE_STALE,		/* movable; once, the first looks like a free block of an order */
	USE_RESERVED,
	USE_UNMOVABLE,
	USE_FREED_LATE,		/* unmovable, and then free */
	USE_OFFLINE,		/* PageOffline, of a driver that keeps them */
	USE_SKIPPED,		/* PageOffline, of a driver that lets the block go offline */
	USE_POISONED,		/* PageHWPoison */
	USE_HUGETLB,		/* they go elsewhere */
	USE_FREE_HUGETLB,	/* they are dissolved */
	USE_FROZEN,		/* unmovable, the first of each group without a reference */
	USE_CACHED,		/* movable, but in the LRU cache of another CPU */
	NR_USES
};

/* A memory block comes online, or goes offline. */
struct memmap_step {
	unsigned int block;
	bool offline;
	bool refused;			/* by a notifier */
	bool poisoned;			/* PLUG: it is not even tried */
	/* If it goes offline: pages are used so when the zone is locked first; 0: none. */
	enum memmap_use late;
	/* If it comes online: of each two groups of 1 << group pages, one is used so. */
	enum memmap_use use;
	unsigned int group;
	bool second;			/* not the first one */
	unsigned int stale;		/* that order */
};

/* What runs, on which memory; pfns and lengths in base pages. */
struct memmap_case {
	enum memmap_what what;
	unsigned long start_pfn;
	unsigned long nr_pages;
	unsigned int node;
	unsigned int zone;		/* its number */
	unsigned int poison;
	unsigned int init_on_alloc;
	/* FILL and BIND: the pgmap. */
	unsigned int type;		/* of enum memory_type; 0: that of an order */
	unsigned int order;		/* pgmap->vmemmap_shift */
	unsigned int early;
	unsigned int altmap;		/* is there an altmap? */
	unsigned long reserve;		/* of it: pages kept by the driver */
	unsigned long offset;		/* of it: pages that hold the memmap */
	/* BIND: free memory, from which vmemmap is allocated; a page of another node, or 0. */
	unsigned long ram_pfn, ram_pages, far_pfn;
	/* Up to there, no more than 32 pages in a row are free; all behind is of that node. */
	bool scattered;
	/* BIND: so many pages before and behind the device are other memory, which stays. */
	unsigned long beside_pages;
	unsigned int direct;		/* the level of pages of the direct map; 0: none */
	bool pieces;			/* it is unmapped in two */
	/* DEFERRED and RESERVED: memory that is not free, from one pfn to another. */
	unsigned int nr_reserved;
	unsigned long reserved[MAX_RESERVED][2];
	unsigned int checked;		/* as check_pages= of the command line */
	bool unaccepted;		/* every other block must be accepted before it is used */
	/* DEFERRED: so often, who allocates makes the zone grow before. */
	unsigned int grown;
	/* RESERVED: how many pages, from start_pfn on, are of a lower zone, and of which. */
	unsigned long lower_pages;
	unsigned int lower_zone;
	enum memmap_owner owner;
	bool holes;			/* one section is missing, one is not mapped */
	bool keeps;			/* CMA: the first area keeps its pages if it fails */
	/* CMA: pageblocks that are in use at a range's start, and that it lacks behind its end. */
	unsigned int early_blocks, late_blocks;
	/* CMA: so many bitmaps are got. KHO: the largest order. */
	unsigned int bitmaps, preserved_order;
	/* ONLINE and OFFLINE: the size of a block, what its start holds of the memmap. */
	unsigned long block_pages, memmap_pages;
	unsigned int callback;		/* a driver decides page by page */
	/*
	 * OFFLINE: the zone starts with so many pages of boot memory, of which that many are a
	 * hole that has struct pages. Then so many pages are missing. The blocks follow.
	 */
	unsigned long early_pages, hole_pages, gap_pages;
	unsigned int nr_steps;
	struct memmap_step steps[MAX_STEPS];
	/* Without steps: all blocks go offline. Half of the memory is used so. */
	enum memmap_use used;
};

/* What a kernel did since prepare(). */
struct memmap_counts {
	unsigned long flushes, locks, allocated;	/* pages */
	unsigned long free_pages;	/* now, also on the CPU's lists and of the altmap */
	/* Pages freed before their entries were cleared and the TLB was flushed. */
	unsigned long early;
	/* Pages that were held at once until a flush, and were freed before the last one. */
	unsigned long held, freed;
	unsigned long marked;		/* page tables freed when no IOMMU can walk them any more */
	/* So often LRU caches were disabled: a grace period, and work on each CPU that has one. */
	unsigned long lru_disabled;
	unsigned long walked;		/* pageblocks, to see whether the zone is contiguous */
};

/* One kernel. */
struct memmap_side {
	struct replay_side side;
	bool (*can_run)(enum memmap_what what);
	unsigned int last_type;		/* of enum memory_type; the first one is 1 */
	unsigned int zones[2];		/* ZONE_NORMAL, ZONE_MOVABLE */
	unsigned long block_pages;	/* of MAX_PAGE_ORDER */
	unsigned long pageblock_pages;
	unsigned long lru;		/* where a struct page has its list head */
	unsigned long removed[2];	/* what list_del() leaves there */
	unsigned long state_size;	/* bytes */
	/*
	 * Zone, sections, pageblock bits and counters lie in @state, at one address for all
	 * kernels. Makes them, and what else the case begins with; returns how many bytes
	 * of it are to be compared.
	 */
	unsigned long (*prepare)(const struct memmap_case *c, void *state);
	/* False: out of memory, or the kernel refused. */
	bool (*run)(const struct memmap_case *c, enum memmap_part part);
	/* FILL of a range of that case; several threads may be in it. */
	void (*fill)(unsigned long start_pfn, unsigned long nr_pages);
	/* Tells of free blocks or of what is mapped, by events; returns how many pages are free. */
	unsigned long (*finish)(const struct memmap_case *c);
	void (*count)(struct memmap_counts *counts);
	/* Nobody reads the list head of a page that is not online. */
	bool (*is_online)(unsigned long pfn);
	void (*trace)(int on);
	/*
	 * From now on so many CPUs are online, and the kernel splits a device into chunks of at
	 * least @min_chunk pages; 0: as it chooses.
	 */
	void (*set_cpus)(unsigned int nr, unsigned long min_chunk);
	/* How many works padata_init() makes; without effect after the first job. */
	void (*set_works)(unsigned int nr);
};

enum memmap_event {
	EVENT_PAGEBLOCK,	/* init_pageblock_migratetype(page, type|isolate) */
	EVENT_PAGE_REF_SET,	/* tracepoint: page, new count */
	EVENT_RESCHED,		/* __cond_resched() */
	EVENT_WARNING,		/* WARN() */
	EVENT_FREE_BLOCK,	/* on a free list at the end: page, order << 8 | migratetype */
	EVENT_ENTRY,		/* of a page table that maps this part of the memmap */
	EVENT_REFERENCES,	/* at the end: page, its count */
	EVENT_FAILED,		/* from this page on */
	EVENT_STALE,		/* memmap that is not zero */
	EVENT_CONTENT,		/* of a page of the memmap, by its entry: a sum */
	EVENT_COUNTED,		/* pages that counters say a memmap, the direct map has */
	EVENT_PRINT,		/* printk() */
	EVENT_MIGRATE,		/* of a page */
	EVENT_RESULT,		/* of a step, of a zone that grows */
	EVENT_ACCEPTED,		/* memory from a page on: pages */
	EVENT_ZONE,		/* behind it: its first page, spanned pages << 1 | contiguous */
};

/* Called by the kernel's half, defined in events.c. */
void replay_event(enum memmap_event kind, unsigned long a, unsigned long b);
/* Memory was added and comes online next, or is offline and is removed next. Defined in rows.c. */
void replay_half(void);
/* The pgmap is common: its address is written into the memmap. */
extern unsigned long replay_pgmap[512];
/*
 * Where the memory lies that the kernels manage, aligned to 1 GiB. Only what they write
 * takes room.
 */
void *replay_memory(void);

#endif
