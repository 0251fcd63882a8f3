/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the demotion replay tell each other, on top of
 * ../replay.h: only plain C types may cross this line.
 */
#ifndef REPLAY_DEMOTION_H
#define REPLAY_DEMOTION_H

#include "../replay.h"

/* Where the data of pfn 0 would lie */
#define DEMOTION_DATA	(48UL << 40)

/* A copy of the first folio to the second; pfns in base pages. */
struct demotion_case {
	unsigned long from, to;
	unsigned int order;
	unsigned int from_lower;	/* the first one is on the node of a lower tier */
	unsigned int lower;		/* the second one is on that node */
};

/* One kernel. Only side.layout and side.place are there. */
struct demotion_side {
	struct replay_side side;
	/* Makes the struct pages of both folios. */
	void (*prepare)(const struct demotion_case *c);
	/* folio_mc_copy(): 0, or -EHWPOISON */
	int (*run)(const struct demotion_case *c);
	/* Copies a page as a demotion does; returns the bytes that are left after a fault. */
	unsigned long (*copy_page)(void *to, const void *from);
	/* How many pages folio_mc_copy() has streamed so far. */
	unsigned long *streamed;
};

/* Called by the shims, defined in user space. */
void demotion_poisoned(unsigned long pfn);

#endif
