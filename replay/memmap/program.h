/* SPDX-License-Identifier: GPL-2.0 */
/* The host's half of `memmap`: check.c, rows.c and estimate.c have its commands. */
#ifndef REPLAY_MEMMAP_PROGRAM_H
#define REPLAY_MEMMAP_PROGRAM_H

#include "../host.h"
#include "memmap.h"

static inline const struct memmap_side *side_of(unsigned int kernel)
{
	return (const struct memmap_side *)kernels[kernel].side;
}

/* The state of the kernels, for memmap_side.prepare() */
extern void *state;
/* Of what runs: its name, and the other way round; dies if the kernels have no such thing. */
extern const char *const what_names[];
enum memmap_what find_what(const char *name);
/*
 * main.c: a case of so many pages that starts at 4 GiB. A device has its memmap on it, or in RAM,
 * which is there in plenty.
 */
struct memmap_case make_case(enum memmap_what what, unsigned long nr_pages, unsigned int order,
			     bool ram);
/* For all kernels */
void set_init_on_alloc(bool on);
/* Prepares a case in a kernel that has so many threads. */
unsigned long prepare_case(unsigned int kernel, const struct memmap_case *c, unsigned int threads,
			   unsigned long min_chunk);

/* check.c */
int check_all(int nr, char **words);
/* rows.c */
#define NR_PLACES	8	/* of the stack in a cache line, one for each round */
int race_rows(int nr, char **words);
int compare_and_race(int nr, char **words);	/* to which file the samples go, if any */
/* Adds such as bind:64:o9:ram; the first has number 0. It runs smaller if memory is scarce. */
void add_row(const char *text);
/* Races what was added: the base, the series and more; samples go to @path. */
void run_rows(unsigned int rounds, const char *path, unsigned int nr_runners,
	      void (*tell)(unsigned int number));
/* MiB of a memory block: as on this machine, or else as on most */
unsigned long block_mib(void);
unsigned long row_mib(unsigned int number);
/* In the words of who waits for it */
void describe_row(unsigned int number, char *text, size_t size);
void print_cpu(void);

/* estimate.c */
int estimate(int nr, char **words);

/* events.c: what the kernels' code asked for from outside */
enum events_mode { EVENTS_IGNORE, EVENTS_RECORD, EVENTS_COMPARE };
void events_start(enum events_mode mode);
/* False, with the first difference in @text, if they are not as recorded. */
bool events_same(char *text, size_t size);

#endif
