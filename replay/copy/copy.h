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
	unsigned long shift;		/* by so many bytes, the data of each page lies higher */
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
};

/* What a move does: a pfn, or a number of bytes */
enum copy_event { POISONED, FOUND, FREED, STREAMED, ZEROED, NR_EVENTS };

/* Called by the kernel's half: that page cannot be read, others can find that folio from now on. */
void replay_tell(enum copy_event event, unsigned long value);

#endif
