/* SPDX-License-Identifier: GPL-2.0 */
/* What the two halves of the bind replay tell each other, on top of ../replay.h. */
#ifndef REPLAY_BIND_H
#define REPLAY_BIND_H

#include "../replay.h"

/* The device, of 128 GiB at most, and the node's memory, from which vmemmap is allocated. */
#define BIND_DEVICE_PFN	(1UL << 20)
#define BIND_RAM_PFN	(BIND_DEVICE_PFN + (128UL << 18))

enum bind_part { BIND_POPULATE, BIND_FILL, BIND_UNMAP, NR_BIND_PARTS };

struct bind_case {
	struct replay_case;
	unsigned long ram_pages;	/* of the node, all free */
	unsigned long far_pfn;		/* one of these, which is of another node; or 0 */
};

/* What a kernel did since prepare(). */
struct bind_counts {
	unsigned long flushes, locks, allocated;	/* pages */
	unsigned long free_pages;		/* now, also on the CPU's lists and of the altmap */
	/* Pages freed before their entries were cleared and the TLB was flushed. */
	unsigned long early;
};

struct bind_side {
	struct replay_side side;
	/* Fills memory of state_size bytes at @state, and frees all RAM. */
	void (*prepare)(const struct bind_case *c, void *state);
	/* False: out of memory. */
	bool (*parts[NR_BIND_PARTS])(const struct bind_case *c);
	void (*count)(struct bind_counts *counts);
	/* Events: each 4 KiB that is mapped of the device's memmap. */
	void (*walk)(const struct bind_case *c);
	unsigned long state_size;
	void *init_on_alloc;			/* the static key */
};

/*
 * Where the memory lies that the kernels manage, aligned to 1 GiB; defined in user
 * space. Only what they write takes room.
 */
void *replay_memory(void);

/* patch.c */
void patch_alternatives(void);
/* Returns are plain, or safe against speculation as on Zen 3 and 4 ("Safe RET"). */
void write_returns(bool safe);
/* Turns the jumps of a static key. */
void set_key(const void *key, bool on);

#endif
