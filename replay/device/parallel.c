// SPDX-License-Identifier: GPL-2.0
/*
 * Speed by wall clock: the base, the series and, as the limit, a bare
 * non-temporal fill of the same bytes, the last two with one thread and with
 * more, in turn over the same memory.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "userspace.h"

#define MAX_RUNNERS	32
#define MAX_CPUS	512
#define PIECES		4	/* of the fill, per thread: as kernel/padata.c makes chunks */
#define MAX_TAKES	20

/* What runs, with how many threads; @split: in chunks as small as they can be. */
static struct runner {
	enum { BASE, SERIES, SPLIT, FILL } what;
	unsigned int threads;
	char name[32];
} runners[MAX_RUNNERS];
static unsigned int nr_runners, nr_cpus, retaken, disturbed;	/* samples of a row */

static struct replay_case call;

static double wall_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* What the hypervisor has taken from a CPU, or else from all of them, in ticks of 10 ms. */
static unsigned long stolen_ticks(int cpu)
{
	char name[16], times[256];
	unsigned long stolen;

	snprintf(name, sizeof(name), cpu < 0 ? "cpu " : "cpu%d ", cpu);
	proc_value("/proc/stat", name, times, sizeof(times));
	/* user nice system idle iowait irq softirq steal: proc_stat(5) */
	if (sscanf(times, "%*u %*u %*u %*u %*u %*u %*u %lu", &stolen) != 1)
		return 0;
	return stolen;
}

static struct {
	unsigned long step;		/* pages of a piece */
	atomic_ulong next;		/* page that nobody has taken */
} filling;

/* What each thread of the fill does. */
static void fill_pieces(void *unused)
{
	unsigned long start, end;

	while ((start = atomic_fetch_add(&filling.next, filling.step)) < call.nr_pages) {
		end = start + filling.step;
		fill_memmap(&call, start, end > call.nr_pages ? call.nr_pages : end);
	}
}

static void fill(unsigned int threads)
{
	static char works[MAX_CPUS];

	filling.step = ((call.nr_pages >> call.order) / (threads * PIECES) + 1) << call.order;
	filling.next = 0;
	for (unsigned int i = 1; i < threads; i++)
		replay_queue(fill_pieces, &works[i]);
	fill_pieces(NULL);
	for (unsigned int i = 1; i < threads; i++)
		replay_cancel(&works[i]);
}

static double time_run(const struct runner *r)
{
	const struct replay_side *side = kernels[r->what != BASE].side;
	double start;

	if (r->what == SERIES || r->what == SPLIT)
		side->set_cpus(r->threads, r->what == SPLIT);
	start = wall_clock();
	if (r->what == FILL)
		fill(r->threads);
	else
		side->run(&call);
	return wall_clock() - start;
}

/*
 * Unlike CPU time, wall clock includes what other guests of the machine use. A sample during which
 * the hypervisor took a tick from a CPU in use is taken again.
 */
static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	const struct runner *r = &runners[runner];
	int used = r->threads > 1 ? -1 : sched_getcpu();
	unsigned int takes = 0;
	unsigned long stolen;

	do {
		/* Every run starts alike, with none of the memmap in a cache. */
		fill(nr_cpus);
		stolen = stolen_ticks(used);
		*figures = time_run(r);
		stolen = stolen_ticks(used) - stolen;
	} while (++takes < MAX_TAKES && stolen);
	retaken += takes - 1;
	disturbed += !!stolen;
}

static void add_runner(int what, unsigned int threads)
{
	static const char *const names[] = { "base", "series", "split", "fill" };
	struct runner *r = &runners[nr_runners++];

	r->what = what;
	r->threads = threads;
	snprintf(r->name, sizeof(r->name), "%s %u", names[what], threads);
}

/* 1, 2, 4... and all CPUs that the process may use */
static void list_runners(void)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	nr_cpus = CPU_COUNT(&cpus);
	if (nr_cpus > MAX_CPUS)
		nr_cpus = MAX_CPUS;
	add_runner(BASE, 1);
	for (unsigned int n = 1; n < nr_cpus; n *= 2) {
		add_runner(SERIES, n);
		add_runner(FILL, n);
	}
	add_runner(SERIES, nr_cpus);
	add_runner(FILL, nr_cpus);
	add_runner(SPLIT, nr_cpus);
}

static const char *name_runner(unsigned int runner)
{
	return runners[runner].name;
}

static void start_row(unsigned int row)
{
	call = start_device(row);
	retaken = 0;
	disturbed = 0;
	/* The memory's first touch does not count. */
	time_run(&runners[0]);
}

static void write_row(FILE *json, unsigned int row)
{
	fprintf(json, "\"device_mib\": %lu, \"order\": %u, \"deduplicated\": %s, \"cpus\": %u, "
		"\"retaken\": %u, \"disturbed\": %u, ", device.mib, device.orders[row],
		device.deduplicated[row] ? "true" : "false", nr_cpus, retaken, disturbed);
}

int race_threads(unsigned int rounds, const char *json)
{
	struct race race = {
		.unit = "ms of wall clock",
		.nr_rows = device.nr_orders,
		.rounds = rounds,
		.figures = { "samples" },
		.name_runner = name_runner,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
	};

	list_runners();
	race.nr_runners = nr_runners;
	threads_start(nr_cpus - 1);
	open_device();
	return run_race(&race, json);
}
