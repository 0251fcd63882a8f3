/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the copy replay tell each other, on top of ../replay.h:
 * only plain C types may cross this line.
 */
#ifndef REPLAY_COPY_H
#define REPLAY_COPY_H

#include "../replay.h"

/* None of them drains. */
struct copy_routine {
	const char *name;
	void (*copy)(void *to, const void *from, unsigned long n);
	/* @nr copies of 64 bytes, a constant, from one place to places @apart. */
	void (*copy_64)(void *to, const void *from, unsigned long nr, unsigned long apart);
};

/* One kernel. Only side.layout is there. */
struct copy_side {
	struct replay_side side;
	const struct copy_routine *routines;	/* up to one without a name */
};

#endif
