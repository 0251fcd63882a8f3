/* SPDX-License-Identifier: GPL-2.0 */
/* The user-space half of the demotion replay. */
#ifndef REPLAY_DEMOTION_USERSPACE_H
#define REPLAY_DEMOTION_USERSPACE_H

#include "../userspace.h"
#include "demotion.h"

#define PAGE		4096UL

static inline const struct demotion_side *demotion_side(const struct kernel *kernel)
{
	return (const struct demotion_side *)kernel->side;
}

/* main.c: the data of pages 0, 1, 2... and their struct pages */
void memory_open(unsigned long pages);
unsigned char *data(unsigned long pfn);

/* publish.c: 1 if another thread sees an old word in a kernel's copy, else 0 */
int publish_copies(int nr, char **words);
/* race.c */
int race_copies(int nr, char **words);

#endif
