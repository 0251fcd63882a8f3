/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the replay program tell each other.
 *
 * shim.c is compiled with the kernel's headers and flags, everything else with
 * those of user space: only plain C types may cross this line.
 */
#ifndef REPLAY_H
#define REPLAY_H

/* One call of memmap_init_zone_device(); pfns and lengths in base pages. */
struct replay_case {
	unsigned long start_pfn;
	unsigned long nr_pages;
	unsigned long reserve;		/* altmap: pages kept by the driver */
	unsigned long offset;		/* altmap: pages holding the memmap */
	unsigned int altmap;		/* is there an altmap? */
	unsigned int type;		/* as in replay_side.types; 0: that of an order */
	unsigned int order;		/* pgmap->vmemmap_shift */
	unsigned int early;		/* enum replay_early */
	unsigned int node;
	unsigned int poison;		/* enum replay_poison */
};

/* Which sections count as early ones. */
enum replay_early { EARLY_NONE, EARLY_ALL, EARLY_ODD, NR_EARLY };
enum replay_poison { POISON_ONES, POISON_ZERO, POISON_RANDOM, NR_POISON };

/* @page: index in the compound; @size in bytes at @offset of that entry. */
struct replay_field {
	const char *name;
	unsigned int page;
	unsigned int offset;
	unsigned int size;
};

/* Lists end with a NULL name. */
struct replay_layout {
	const struct replay_field *fields;	/* of every struct page */
	unsigned long pages_per_section;
	unsigned int page_struct_size;	/* bytes */
	unsigned int page_shift;
	unsigned int max_order;
	unsigned int dedup_pages;	/* entries per deduplicated compound page */
	unsigned int nr_nodes;
	unsigned int nr_cpus;		/* at most */
	unsigned int can_trace;		/* page_ref_set can be switched on */
	unsigned int can_check;		/* check_pages can be switched on */
	/* Whether compound_info holds a mask. */
	bool (*has_mask)(void);
};

/* One kernel: its layout, and its code. */
struct replay_side {
	const struct replay_layout *layout;
	/* Fields that come before those of the layout; the first match names a byte. */
	const struct replay_field *fields;
	const char *const *types;	/* names from 1 on, up to a NULL */
	/* Where pfn 0's entry would lie; a multiple of 1 GiB. */
	void (*place)(void *pfn0);
	/* Makes the pgmap of a case, and its sections. */
	void (*prepare)(const struct replay_case *c);
	/* The call for a range of that case; several threads may be in it. */
	void (*bind)(unsigned long start_pfn, unsigned long nr_pages);
	void (*trace)(int on);
	/*
	 * From now on the kernel has so many CPUs, and splits a range into chunks
	 * of at least @min_chunk pages; 0: as the kernel chooses.
	 */
	void (*set_cpus)(unsigned int nr, unsigned long min_chunk);
	/* How many works padata_init() makes; without effect after the first job. */
	void (*set_works)(unsigned int nr);
};

enum replay_event {
	EVENT_PAGEBLOCK,	/* init_pageblock_migratetype(page, type|isolate) */
	EVENT_PAGE_REF_SET,	/* tracepoint: page, new count */
	EVENT_RESCHED,		/* __cond_resched() */
	EVENT_WARNING,		/* WARN() */
	EVENT_FREE_BLOCK,	/* on a free list at the end: page, order << 8 | migratetype */
	EVENT_ENTRY,		/* of a page table that maps this part of the memmap */
	EVENT_REFERENCES,	/* at the end: page, its count */
	EVENT_NO_MEMORY,	/* for the memmap of a section, from this page on */
	EVENT_PRINT,		/* printk() */
};

/* Called by the shims, defined in user space. */
void replay_event(enum replay_event what, unsigned long a, unsigned long b);

/*
 * A work item of the kernel: queued, so that a thread runs it, and cancelled. With
 * wait, no thread runs it on return.
 */
void replay_queue(void (*run)(void *work), void *work);
void replay_cancel(void *work, bool wait);

/* The pgmap is common: its address is written into the memmap. */
extern unsigned long replay_pgmap[512];

#endif
