/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the copy replay tell each other, on top of ../replay.h:
 * only plain C types may cross this line.
 */
#ifndef REPLAY_COPY_H
#define REPLAY_COPY_H

#include "../replay.h"

/* Copies, and does not drain. */
struct copy_routine {
	const char *name;
	void (*copy)(void *to, const void *from, unsigned long n);
};

/* One kernel. Only side.layout is there. */
struct copy_side {
	struct replay_side side;
	const struct copy_routine *routines;	/* up to one without a name */
	void *memcpy;	/* its code, which begins with a jump if the CPU lacks FSRM */
};

#endif
