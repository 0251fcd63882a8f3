/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The user-space half of the boot replay. It shares with the replay what knows
 * nothing of a case. Calls go one way:
 * main -> check, race -> the shared half.
 */
#ifndef REPLAY_BOOT_USERSPACE_H
#define REPLAY_BOOT_USERSPACE_H

#include "../userspace.h"
#include "boot.h"

#define CASE_TEXT	128

static inline const struct boot_side *boot_side(const struct kernel *kernel)
{
	return (const struct boot_side *)kernel->side;
}

static inline const char *boot_name(enum boot_what what)
{
	static const char *const names[] = { "deferred", "online", "hugetlb" };

	return names[what];
}

/* The memory for boot_side.prepare(). */
void *boot_state(void);

/* check.c: 1 if a kernel does not do as the base, else 0 */
enum boot_list { LIST_MATRIX, LIST_RANDOM };
/* Cases from @first on; those of LIST_RANDOM depend on @seed and their number. */
int check_cases(enum boot_what what, enum boot_list list, unsigned long first, unsigned long nr,
		uint64_t seed);

/* race.c */
int race_boot(enum boot_what what, unsigned long gib, unsigned int rounds, const char *json);
/* Prints the instructions per struct page. */
int count_boot(enum boot_what what);
/* Deferred initialisation by one thread, two, four... and one for each CPU, by wall clock. */
int race_threads(unsigned long gib, unsigned int rounds, const char *json);

#endif
