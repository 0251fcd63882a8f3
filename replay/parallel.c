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
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "userspace.h"

#define MAX_RUNNERS	32
#define MAX_CPUS	512
#define START_PFN	(1UL << 20)
#define PIECES		4	/* of the fill, per thread: as kernel/padata.c makes chunks */
#define MAX_TAKES	20

/* What runs, with how many threads; @split: in chunks as small as they can be. */
struct runner {
	enum { BASE, SERIES, SPLIT, FILL } what;
	unsigned int threads;
};

struct result {
	unsigned int order;
	bool deduplicated;
	double sample[MAX_RUNNERS][MAX_ROUNDS];		/* ms */
	unsigned int retaken, disturbed;		/* samples */
};

static const char *const names[] = { "base", "series", "split", "fill" };
static struct runner runners[MAX_RUNNERS];
static unsigned int nr_runners, nr_cpus;

static double wall_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static struct {
	const struct replay_case *c;
	bool deduplicated;
	unsigned long step;		/* pages of a piece */
	atomic_ulong next;		/* page that nobody has taken */
} filling;

/* What each thread of the fill does. */
static void fill_pieces(void *unused)
{
	const struct replay_case *c = filling.c;
	unsigned long size = layout->page_struct_size, start, end;

	(void)unused;
	while ((start = atomic_fetch_add(&filling.next, filling.step)) < c->nr_pages) {
		end = start + filling.step;
		if (end > c->nr_pages)
			end = c->nr_pages;

		if (!filling.deduplicated)
			stream(entry(c->start_pfn + start), (end - start) * size);
		else
			for (; start < end; start += 1UL << c->order)
				stream(entry(c->start_pfn + start), layout->dedup_pages * size);
	}
	stream_end();
}

static void fill(const struct replay_case *c, bool deduplicated, unsigned int threads)
{
	static char works[MAX_CPUS];

	filling.c = c;
	filling.deduplicated = deduplicated;
	filling.step = ((c->nr_pages >> c->order) / (threads * PIECES) + 1) << c->order;
	filling.next = 0;
	for (unsigned int i = 1; i < threads; i++)
		replay_queue(fill_pieces, &works[i]);
	fill_pieces(NULL);
	for (unsigned int i = 1; i < threads; i++)
		replay_cancel(&works[i]);
}

static double time_once(const struct runner *r, const struct replay_case *c, bool deduplicated)
{
	const struct replay_side *side = kernels[r->what != BASE].side;
	double start;

	crash_kernel = names[r->what];
	if (r->what == SERIES || r->what == SPLIT)
		side->set_cpus(r->threads, r->what == SPLIT);
	start = wall_clock();
	if (r->what == FILL)
		fill(c, deduplicated, r->threads);
	else
		side->run(c);
	return wall_clock() - start;
}

/*
 * Unlike CPU time, wall clock includes what other guests of the machine use. A sample during which
 * the hypervisor took a tick from a CPU in use is taken again.
 */
static double time_one(const struct runner *r, const struct replay_case *c, struct result *result)
{
	int used = r->threads > 1 ? ALL_CPUS : sched_getcpu();
	unsigned int takes = 0;
	unsigned long stolen;
	double ms;

	do {
		/* Every run starts alike, with none of the memmap in a cache. */
		fill(c, result->deduplicated, nr_cpus);
		stolen = stolen_ticks(used);
		ms = time_once(r, c, result->deduplicated);
		stolen = stolen_ticks(used) - stolen;
	} while (++takes < MAX_TAKES && stolen);
	result->retaken += takes - 1;
	result->disturbed += !!stolen;
	return ms;
}

static void add_runner(int what, unsigned int threads)
{
	runners[nr_runners].what = what;
	runners[nr_runners++].threads = threads;
}

/* 1, 2, 4... and all CPUs */
static void list_runners(void)
{
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
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

static void print_row(const struct result *r, unsigned int rounds)
{
	printf("%4u%c", r->order, r->deduplicated ? 'd' : ' ');
	for (unsigned int i = 0; i < nr_runners; i++) {
		struct summary s = summarise(r->sample[i], rounds);

		printf("  %8.3f +-%2.0f%%", s.median, (s.high - s.low) / s.median * 50);
	}
	printf("  %8u %9u\n", r->retaken, r->disturbed);
	fflush(stdout);
}

static void write_json(FILE *json, const struct race_options *options, const struct result *results,
		       unsigned long mib)
{
	char cpu[128];

	cpu_name(cpu, sizeof(cpu));
	fprintf(json, "{\"cpu\": \"%s\", \"unit\": \"ms of wall clock\", ", cpu);
	fprintf(json, "\"cpus\": %u,\n\"results\": [", nr_cpus);
	for (unsigned int k = 0; k < options->nr_orders; k++) {
		const struct result *r = &results[k];

		fprintf(json, "%s\n{\"device_mib\": %lu, \"order\": %u, ", k ? "," : "", mib,
			r->order);
		fprintf(json, "\"deduplicated\": %s, \"retaken\": %u, \"disturbed\": %u, ",
			r->deduplicated ? "true" : "false", r->retaken, r->disturbed);
		fprintf(json, "\"samples\": {");
		for (unsigned int i = 0; i < nr_runners; i++) {
			char name[32];

			snprintf(name, sizeof(name), "%s %u", names[runners[i].what],
				 runners[i].threads);
			write_list(json, name, r->sample[i], options->rounds);
			fprintf(json, i + 1 < nr_runners ? ", " : "}}");
		}
	}
	fprintf(json, "]}\n");
	close_samples(json);
}

int parallel_race(const struct race_options *options)
{
	unsigned long gib = (options->device_mib + 1023) / 1024, mib = options->device_mib;
	struct result *results = calloc(options->nr_orders, sizeof(*results));
	FILE *json = options->json ? open_samples(options->json) : NULL;
	struct replay_case c = { .start_pfn = START_PFN };
	char cpu[128];

	if (!results)
		die("out of memory for the samples: fewer orders");
	if (fitting_gib(gib) != gib)
		mib = fitting_gib(gib) * 1024;
	list_runners();
	threads_start(nr_cpus - 1);
	stay_on_cpu();
	c.nr_pages = mib * MIB >> layout->page_shift;
	window_open(c.nr_pages * layout->page_struct_size);
	window_place(START_PFN);

	cpu_name(cpu, sizeof(cpu));
	printf("%s; %lu MiB device, memmap of %lu MiB\n"
	       "ms of wall clock, median and half the quartiles' distance of %u rounds\norder",
	       cpu, mib, c.nr_pages * layout->page_struct_size / MIB, options->rounds);
	for (unsigned int i = 0; i < nr_runners; i++)
		printf("  %10s %2u", names[runners[i].what], runners[i].threads);
	printf("   retaken disturbed\n");
	crash_context = "parallel";
	for (unsigned int k = 0; k < options->nr_orders; k++) {
		struct result *r = &results[k];

		c.order = options->orders[k];
		r->order = c.order;
		r->deduplicated = options->deduplicated[k];
		c.type = type_value(c.order ? "generic" : "fs_dax");
		c.altmap = !r->deduplicated;
		madvise(entry(START_PFN), c.nr_pages * layout->page_struct_size,
			r->deduplicated ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
		/* The memory's first touch does not count. */
		time_once(&runners[0], &c, r->deduplicated);
		/* Whatever drifts during a round must not always hit the same one: rotate. */
		for (unsigned int round = 0; round < options->rounds; round++)
			for (unsigned int i = 0; i < nr_runners; i++) {
				unsigned int n = (i + round) % nr_runners;

				r->sample[n][round] = time_one(&runners[n], &c, r);
			}
		print_row(r, options->rounds);
	}
	if (json)
		write_json(json, options, results, mib);
	free(results);
	return 0;
}
