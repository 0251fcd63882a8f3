/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The user-space half of the boot replay. It shares with the replay what knows
 * nothing of a case.
 */
#ifndef REPLAY_BOOT_USERSPACE_H
#define REPLAY_BOOT_USERSPACE_H

#include "../userspace.h"
#include "boot.h"

static inline const struct boot_side *boot_side(const struct kernel *kernel)
{
	return (const struct boot_side *)kernel->side;
}

static inline const char *boot_name(enum boot_what what)
{
	static const char *const names[] = { "deferred", "reserved", "online" };

	return names[what];
}

/* The memory for boot_side.prepare(). */
extern void *boot_state;

/* What WHAT is, the first word */
enum boot_what read_what(int nr, char **words);

/* race.c: the commands */
int race_boot(int nr, char **words);
/* Deferred initialisation by one thread, two, four... and one for each CPU, by wall clock. */
int race_threads(int nr, char **words);

#endif
