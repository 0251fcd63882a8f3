/* SPDX-License-Identifier: GPL-2.0 */
/* What both programs share in user space. */
#ifndef REPLAY_HOST_H
#define REPLAY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "replay.h"

#define GIB		(1UL << 30)
#define MIB		(1UL << 20)

/* What each program provides to main.c: its commands, up to one without a name. */
struct command {
	const char *name;
	int most;		/* words behind the name, at most */
	int (*run)(int nr, char **words);	/* the words behind the name */
};

extern const struct command commands[];
extern const char usage[];
/* Without a word, the program compares, races and prints a table. */
int run_all(void);

/* main.c: numbers; @missing if there is no such word. */
unsigned long read_number(const char *text);
unsigned long read_word(int nr, char **words, int which, unsigned long missing);
/* The same from 1 to @most; the @message names it. */
unsigned long read_within(int nr, char **words, int which, unsigned long missing,
			  unsigned long most, const char *message);
/* The value of a word such as returns=plain in front of the command, or NULL */
const char *find_setting(const char *name);
extern const char *const setting_names[];

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
/* Faults inside the kernels' code become such a line and status 3: what runs, and whose code. */
#define NO_KERNEL	"this program"
extern const char *crash_context, *crash_kernel;
void catch_crashes(void);

/* The kernels keep their stack aligned to 8 bytes only; what they call must align it. */
#ifdef __x86_64__
#define KERNEL_CALLS	__attribute__((force_align_arg_pointer))
#else
#define KERNEL_CALLS
#endif

/* memory.c: zeroes, which take room once they are written; where 0 stands for any place. */
void *map_at(unsigned long where, size_t bytes);
/* The stretch of address space that the memmap lies in */
#define WINDOW_START	(32UL << 40)
extern unsigned long window_size;	/* bytes */
void window_open(unsigned long bytes);
/* Places every kernel's vmemmap so that the entry of @pfn lies in the window. */
unsigned char *window_place(unsigned long pfn);
unsigned char *entry(unsigned long pfn);
unsigned long pfn_of(const void *address);
/* Random numbers: the next one, one below @n, and memory full of them */
uint64_t next_random(uint64_t *state);
unsigned long below(uint64_t *state, unsigned long n);
void fill_random(unsigned char *start, unsigned long bytes, uint64_t seed);
/* The lower bound of a fill: MOVNTI, and the SFENCE that orders it */
void stream(unsigned char *start, unsigned long bytes);
void stream_end(void);

/* boot.c: makes the kernels' code what it is after boot on this CPU. */
void boot_kernels(void);
/* What was made of it, and why: for JSON and for the user */
extern char boot_returns[], boot_reason[], boot_features[];
/* Dies if the CPU's kernel does what this program cannot imitate. */
void need_imitation(void);
/* Sets a static key, and turns its jumps. */
void set_key(void *key, bool on);

/* threads.c: the workers that run the kernels' works */
void threads_start(unsigned int nr);
/* For all CPUs, the caller being one, up to what the kernels have. */
void threads_start_all(void);
#define PIECES		4	/* of a fill, per thread: as kernel/padata.c makes chunks */
/* Runs piece(0), piece(1)... piece(@nr - 1) on so many threads, the caller being one. */
void threads_share(unsigned int threads, unsigned long nr, void (*piece)(unsigned long i));
/* How many works were cancelled, and nobody waited until they had ended. */
unsigned int threads_not_waited(void);

/* system.c: clocks in ns. CPU time leaves out what else runs on the machine. */
double cpu_time(void);
double wall_time(void);
void stay_on_cpu(void);
/* Copies to @value what follows @key in the first line that begins with it, "" if none does. */
void read_value(const char *path, const char *key, char *value, size_t size);
/* Bytes of memory that a race may use */
unsigned long free_memory(void);
double median(double *values, unsigned int n);

/* Members of JSON, from what the program was linked; generated then. */
extern const char program_facts[];

/* race.c: the runners take turns; the samples become JSON */
#define MAX_FIGURES	4

struct race {
	const char *unit;
	unsigned int nr_rows, nr_runners, rounds;
	/* What a run measures: the names of lists of samples, up to one without a name. */
	const char *figures[MAX_FIGURES];
	const char *(*name_runner)(unsigned int runner);
	/* Before the rounds of a row; may change the figures, and may be NULL. */
	void (*start_row)(unsigned int row);
	/* After them: members of JSON, each with a comma */
	void (*write_row)(FILE *json, unsigned int row);
	void (*time_one)(unsigned int row, unsigned int runner, unsigned int round,
			 double *figures);
	/* Last, for the user; may be NULL, and add rows to the end of the race. */
	void (*tell_row)(unsigned int row);
};

/* The path of a file for samples: "-" is stdout, and what else is told goes to stderr then. */
const char *name_samples(const char *file);
#define NOWHERE		"/dev/null"
/* @path: the file for the samples; NULL: stdout */
void run_race(const struct race *race, const char *path);
/* Of the row that ran last: the median of a runner's times, and that of the ratios of two */
double race_time(unsigned int runner);
double race_ratio(unsigned int over, unsigned int under);
/* The same of the rounds @first, @first + @step...; NAN if there is none */
double race_ratio_of(unsigned int over, unsigned int under, unsigned int first,
		     unsigned int step);
/* The kernels, and behind them "bound" */
const char *name_kernel(unsigned int runner);

#endif
