/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The user-space half of the replay program. Calls go one way:
 * main -> check, race -> events, case, window, timing, crash, machine -> kernels.
 */
#ifndef REPLAY_USERSPACE_H
#define REPLAY_USERSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "replay.h"

#define GIB		(1UL << 30)
#define MIB		(1UL << 20)

/* kernels.c: the linked kernels, the base first, and the base's layout */
#define MAX_KERNELS	4

struct kernel {
	const char *name;
	const struct replay_side *side;
	bool may_differ;	/* from the base: that is reported, and no failure */
};

extern struct kernel kernels[];
extern unsigned int nr_kernels;
extern const struct replay_layout *layout;
/* Does nothing where the program is linked without the kernel: @side is NULL. */
void add_kernel(const char *name, const struct replay_side *side, bool may_differ);
/* One line on stderr, then exit status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* A number of the command line; else prints @usage, which each program has, and dies. */
extern const char usage[];
unsigned long read_argument(const char *text);

/* The kernels' objects; what is weak may be left out. */
extern const struct replay_side base_side;
extern const struct replay_side series_side __attribute__((weak));
extern const struct replay_side fallback_side __attribute__((weak));
extern const struct replay_side peer_side __attribute__((weak));

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
/* What the message names: the case, and whose code runs. */
extern const char *crash_context, *crash_kernel;
/* Generated when the program is linked: a page for each symbol that nobody provides. */
extern char unexpected_start[], unexpected_end[];
extern const char *const unexpected_names[];

/* machine.c: what /proc says about the CPU, the memory and stolen time */
/* Reads the first "KEY: VALUE" or "KEY VALUE" of a file in /proc; "" if there is none. */
void proc_value(const char *path, const char *key, char *value, size_t size);
void cpu_name(char *name, size_t size);

/* The kernels keep their stack aligned to 8 bytes only; what they call must align it. */
#ifdef __x86_64__
#define KERNEL_CALLS	__attribute__((force_align_arg_pointer))
#else
#define KERNEL_CALLS
#endif

/* threads.c: the workers that run the kernels' works */
void threads_start(unsigned int nr);
/* With how many threads the kernels run: 1, or as the command line says. */
extern unsigned int nr_threads;

/* case.c: a case as text */
#define CASE_SIZE	256
void case_write(const struct replay_case *c, char *text);
struct replay_case case_read(const char *text);
/* The enum memory_type of that name. */
unsigned int type_value(const char *name);

/* events.c: what the kernels' code asked for from outside */
enum events_mode { EVENTS_IGNORE, EVENTS_RECORD, EVENTS_COMPARE };
void events_start(enum events_mode mode);
/* False, with the first difference in @text, if they are not as recorded. */
bool events_same(char *text, size_t size);

/* check.c: 1 if a kernel that may not differ from the base does so, else 0 */
int check_matrix(void);
int check_random(unsigned long nr_cases, uint64_t seed);
int check_one(const struct replay_case *c);

/* timing.c: what a race needs */
#define MAX_ROUNDS	1000

struct summary {
	double low, median, high;	/* quartiles */
};

void stay_on_cpu(void);
/* CPU time in ns: what else runs on the machine shall not count. */
double cpu_time(void);
/* What the hypervisor has taken from a CPU, in ticks of 10 ms. */
#define ALL_CPUS	-1
unsigned long stolen_ticks(int cpu);
/* The limit: a bare non-temporal fill; stream_end() orders it. */
void stream(unsigned char *start, unsigned long bytes);
void stream_end(void);
struct summary summarise(const double *values, unsigned int n);
/* Median of the quotients of each round. */
double median_ratio(const double *over, const double *under, unsigned int n);
FILE *open_samples(const char *file);
void write_list(FILE *json, const char *name, const double *values, unsigned int n);
void close_samples(FILE *json);
/* The largest of @wanted, a half of it, a quarter... whose memmap fits. */
unsigned long fitting_gib(unsigned long wanted);

/* race.c */
#define MAX_ORDERS	32

struct race_options {
	const char *json;		/* file for the raw samples, or NULL */
	unsigned long device_gib;
	unsigned long device_mib;	/* of parallel_race() */
	unsigned int orders[MAX_ORDERS], nr_orders;
	bool deduplicated[MAX_ORDERS];	/* without an altmap: tails share their memmap */
	unsigned int rounds;
};

int race(const struct race_options *options);

/* parallel.c */
int parallel_race(const struct race_options *options);

#endif
