/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The user-space half of the bind replay. Calls go one way:
 * main -> check, race -> patch -> the shared half.
 */
#ifndef REPLAY_BIND_USERSPACE_H
#define REPLAY_BIND_USERSPACE_H

#include "../userspace.h"
#include "bind.h"

static inline const struct bind_side *bind_side(const struct kernel *kernel)
{
	return (const struct bind_side *)kernel->side;
}

/* The memory for bind_side.prepare(). */
extern void *bind_state;

/* A device of so many GiB; @altmap as --map=dev. */
struct replay_case bind_case(unsigned long gib, unsigned int order, bool altmap);
void bind_run(const struct bind_side *side, const struct replay_case *c, enum bind_part part);

/* patch.c: as the kernels do when they boot */
void patch_kernels(void);
/* Turns the jumps of a static key. */
void set_key(const void *key, bool on);

/* check.c: 1 if the series does not do as the base, else 0 */
int check_bind(int nr, char **words);
/* race.c */
int race_bind(int nr, char **words);

#endif
