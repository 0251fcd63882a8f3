/* SPDX-License-Identifier: GPL-2.0 */
/* What the two halves of the program `copy` tell each other, on top of ../replay.h. */
#ifndef REPLAY_COPY_H
#define REPLAY_COPY_H

#include "../replay.h"

/* Where the data of pfn 0 would lie */
#define COPY_DATA	(48UL << 40)

/* Who moves a folio: the first two name the node, the others get one. */
enum copy_path { RECLAIM, MOVE_PAGES, MBIND, OFFLINE, NR_PATHS };

/* A migration: the first folio is copied to the second; pfns in base pages. */
struct copy_folio {
	enum copy_path path;
	unsigned long from, to;
	unsigned int order;
	unsigned int from_lower;	/* the first one is on the node of a lower tier */
	unsigned int lower;		/* the second one is on that node */
	unsigned int pinned;		/* somebody else has a reference to the first one */
};

/* One kernel. */
struct copy_side {
	struct replay_side side;
	/* Makes @nr copies of 64 bytes, from one place to places @apart, and does not drain. */
	void (*copy_64)(void *to, const void *from, unsigned long nr, unsigned long apart);
	/* Makes the struct pages of both folios. */
	void (*prepare)(const struct copy_folio *c);
	/* migrate_pages(), as the path calls it: how many folios were not moved */
	int (*run)(const struct copy_folio *c, bool init_on_alloc);
	/* Whether a folio is mapped or has a reference */
	bool (*is_used)(unsigned long pfn);
	/* Copies past the caches; returns the bytes that are left after a fault. */
	unsigned long (*copy_nt)(void *to, const void *from, unsigned int n);
	/* Bytes that were streamed, and zeroed, so far */
	unsigned long *streamed, *zeroed;
};

/* Called by the kernel's half: a page cannot be read; others can find a folio from now on. */
void replay_poisoned(unsigned long pfn);
void replay_found(unsigned long pfn);

#endif
