/* SPDX-License-Identifier: GPL-2.0 */
/* The user-space half of the replay program. */
#ifndef REPLAY_USER_H
#define REPLAY_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "replay.h"

#define GIB		(1UL << 30)
#define MIB		(1UL << 20)
#define SPEC_SIZE	256

/* The linked kernels, the base first; set up by load_kernels(). */
struct kernel {
	const char *name;
	const struct replay_side *side;
};

extern struct kernel kernels[];
extern unsigned int nr_kernels;
extern const struct replay_layout *layout;

/* One line on stderr, then exit status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* window.c: the stretch of address space that the memmap lies in */
#define WINDOW_START	(32UL << 40)
unsigned long window_size(void);
void window_open(unsigned long bytes);
/* Places every kernel's vmemmap so that the entry of @pfn lies in the window. */
unsigned char *window_place(unsigned long pfn);
unsigned char *entry(unsigned long pfn);
unsigned long pfn_of(const void *address);

/* crash.c: faults inside the kernels' code become messages */
void crash_catch(void);
extern const char *crash_context;

/* proc.c */
/* Reads the first "KEY ... : VALUE" of a file in /proc; "" if there is none. */
void proc_value(const char *path, const char *key, char *value, size_t size);
void cpu_name(char *name, size_t size);

/* spec.c: a case as text */
void spec_write(const struct replay_case *c, char *text);
struct replay_case spec_read(const char *text);
const char *type_name(unsigned int index);
unsigned int type_index(const char *name);

/* events.c: what the kernels' code asked for from outside */
enum events_mode { EVENTS_IGNORE, EVENTS_RECORD, EVENTS_COMPARE };
void events_start(enum events_mode mode);
/* False, with the first difference in @text, if they are not as recorded. */
bool events_same(char *text, size_t size);

/* check.c: 0 if every kernel does as the base, else 1 */
int check_matrix(void);
int check_random(unsigned long nr_cases, uint64_t seed);
int check_one(const struct replay_case *c);

/* race.c */
#define MAX_ORDERS	32
#define MAX_ROUNDS	1000
struct race_options {
	const char *json;		/* file for the raw samples, or NULL */
	unsigned long device_gib;
	unsigned int orders[MAX_ORDERS], nr_orders;
	bool deduplicated[MAX_ORDERS];	/* without an altmap: tails share their memmap */
	unsigned int rounds;
};

int race(const struct race_options *options);

#endif
