/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all replay programs share in user space. Calls go one way:
 * main -> the program's commands -> race, compare ->
 * events, window, timing, threads, random, crash -> kernels.
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

/* What each program provides to main.c */
struct command {
	const char *name;
	int most;		/* words behind the name, at most */
	int (*run)(int nr, char **words);	/* the words behind the name, words[-1] */
};

extern const struct command commands[];	/* up to one without a name */
extern const char usage[];
/* What a program does once it knows its kernels. */
void prepare_kernels(void);

/* main.c */
int run_command(int nr, char **words);
/* A number of the command line; @missing if there is no such word. Else prints usage and dies. */
unsigned long read_word(int nr, char **words, int which, unsigned long missing);
/* The same from 1 to @most; @what is what the message says. */
unsigned long read_within(int nr, char **words, int which, unsigned long missing,
			  unsigned long most, const char *what);

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
void find_kernels(void);
/* One line on stderr, then exit status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Zeroes, which take room once they are written; where 0 stands for any place. */
void *map_at(unsigned long where, size_t bytes);
/* The name of a byte: @offset of the @page-th entry of its compound. */
const char *field_at(unsigned long page, unsigned int offset);

/* window.c: the stretch of address space that the memmap lies in */
#define WINDOW_START	(32UL << 40)
extern unsigned long window_size;	/* bytes */
void window_open(unsigned long bytes);
/* Places every kernel's vmemmap so that the entry of @pfn lies in the window. */
unsigned char *window_place(unsigned long pfn);
unsigned char *entry(unsigned long pfn);
unsigned long pfn_of(const void *address);

/* events.c: what the kernels' code asked for from outside */
enum events_mode { EVENTS_IGNORE, EVENTS_RECORD, EVENTS_COMPARE };
void events_start(enum events_mode mode);
/* False, with the first difference in @text, if they are not as recorded. */
bool events_same(char *text, size_t size);

/* compare.c: what a program compares, besides the memmap and the events */
struct comparison {
	unsigned long guard;		/* entries on either side */
	bool unordered;			/* events are not compared */
	void *state;			/* zone and the like, where a replay has it */
	unsigned long state_size;
	void (*run)(const struct replay_side *side, const struct replay_case *c, bool traced);
};

/* For ranges of so many pages */
void compare_open(unsigned long pages, const struct comparison *comparison);
void compare(const struct replay_case *c, const char *name);
/* Prints it; 1 if a kernel that may not differ from the base does so, else 0. */
int compare_summary(void);

/* crash.c: faults inside the kernels' code become messages */
void crash_catch(void);
/* What the message names: the case, and whose code runs. */
#define NO_KERNEL	"this program"
extern const char *crash_context, *crash_kernel;
/* Generated when the program is linked: a page for each symbol that nobody provides. */
extern char unexpected_start[], unexpected_end[];
extern const char *const unexpected_names[];

/* The kernels keep their stack aligned to 8 bytes only; what they call must align it. */
#ifdef __x86_64__
#define KERNEL_CALLS	__attribute__((force_align_arg_pointer))
#else
#define KERNEL_CALLS
#endif

/*
 * alternatives.c, x86-64: what kernels do to their code when they boot. An alternative is for CPUs
 * with a feature, word * 32 + bit of cpufeatures.h, or without it.
 */
struct alternative {
	unsigned int feature;
	bool missing, direct_call;
	unsigned char *code;			/* so many bytes are replaced */
	unsigned int bytes;
	const unsigned char *new;		/* by so many, and NOPs */
	unsigned int nr;
};

void find_alternatives(void (*found)(const struct alternative *a));
void replace_instruction(const struct alternative *a, const unsigned char *new, unsigned int nr);
void write_code(unsigned char *code, const unsigned char *new, unsigned int nr);

/* random.c: the next number, one below @n, and memory full of them */
uint64_t next_random(uint64_t *state);
unsigned long below(uint64_t *state, unsigned long n);
void fill_random(unsigned char *start, unsigned long bytes, uint64_t seed);
void poison(unsigned char *start, unsigned long bytes, enum replay_poison how);

/* threads.c: the workers that run the kernels' works */
void threads_start(unsigned int nr);
/* For all CPUs, the caller being one, up to what the kernels have; returns how many that are. */
unsigned int threads_start_all(void);
#define PIECES		4	/* of a fill, per thread: as kernel/padata.c makes chunks */
/* Runs piece(0), piece(1)... piece(@nr - 1) on so many threads, the caller being one. */
void threads_share(unsigned int threads, unsigned long nr, void (*piece)(unsigned long i));

/* timing.c: what a race needs */
void stay_on_cpu(void);
/* CPU time in ns: what else runs on the machine shall not count. */
double cpu_time(void);
/* ns of wall clock, for several threads. That includes what other guests of the machine use. */
double wall_time(void);
/* Copies to @value what follows @key in the first line that begins with it, "" if none does. */
void proc_value(const char *path, const char *key, char *value, size_t size);
/* The limit: a bare non-temporal fill; stream_end() orders it. */
void stream(unsigned char *start, unsigned long bytes);
void stream_end(void);
/* The largest of @wanted GiB, a half of it... of which @share of @whole bytes fit into memory. */
unsigned long fitting_gib(unsigned long wanted, unsigned long share, unsigned long whole);
double median(double *values, unsigned int n);

/* race.c: the runners take turns; the samples become JSON */
#define MAX_FIGURES	4

struct race {
	const char *unit;
	const char *alternatives;	/* the CPU's features that they were applied for, or NULL */
	unsigned int nr_rows, nr_runners, rounds;
	/* What a run measures: the names of lists of samples, up to a NULL. */
	const char *figures[MAX_FIGURES + 1];
	const char *(*name_runner)(unsigned int runner);
	/* Before and after the rounds of a row; the latter writes members, each with a comma. */
	void (*start_row)(unsigned int row);
	void (*write_row)(FILE *json, unsigned int row);
	void (*time_one)(unsigned int row, unsigned int runner, double *figures);
};

/* The words are the rounds, and the file for the samples; without one, stdout. */
int run_race(struct race *race, int nr, char **words);
/* The kernels, and behind them "limit". */
const char *name_kernel(unsigned int runner);

#endif
