/* SPDX-License-Identifier: GPL-2.0 */
/* What the two halves of the bind replay tell each other, on top of ../replay.h. */
#ifndef REPLAY_BIND_H
#define REPLAY_BIND_H

#include "../replay.h"

/* System RAM, from which vmemmap is allocated, and the device. */
#define BIND_RAM_PFN	(1UL << 20)
#define BIND_RAM_PAGES	(1UL << 19)
#define BIND_DEVICE_PFN	(2UL << 20)

enum bind_part { BIND_POPULATE, BIND_FILL, BIND_FREE, NR_BIND_PARTS };

/* What a kernel did since prepare(). */
struct bind_counts {
	unsigned long flushes, locks;
	unsigned long allocated, freed;		/* pages */
	unsigned long free_pages;		/* now, those of the CPU's lists included */
	/* Pages freed before their entries were cleared and the TLB was flushed. */
	unsigned long early;
};

struct bind_side {
	struct replay_side side;
	/* Fills memory of state_size bytes at @state, and frees all RAM. */
	void (*prepare)(const struct replay_case *c, void *state);
	/* 0, or a negative error. */
	int (*run)(const struct replay_case *c, enum bind_part part);
	void (*count)(struct bind_counts *counts);
	/*
	 * What is mapped from the device's memmap on: for each 4 KiB an entry of a
	 * table, or of a PMD, and behind it the page's references; returns how many.
	 */
	unsigned long (*walk)(const struct replay_case *c, unsigned long *words);
	unsigned long state_size;
	void *init_on_alloc;			/* the static key */
};

/* Defined in user space: where RAM is mapped. */
void *bind_memory(void);

#endif
