// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the limit, a bare non-temporal fill of the same
 * bytes, in turn over the same memory.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "user.h"

#define MAX_RUNNERS	8
#define START_PFN	(1UL << 20)	/* 4 GiB: aligned to every order */

struct summary {
	double low, median, high;	/* quartiles */
};

/* Times are ns per struct page; runners are the kernels, then the limit. */
struct result {
	unsigned long device_gib, nr_pages;	/* struct pages that are written */
	unsigned int order, rounds;
	bool deduplicated;
	double first_touch[MAX_RUNNERS];
	double sample[MAX_RUNNERS][MAX_ROUNDS];
};

static unsigned int nr_runners, limit;

static const char *runner_name(unsigned int runner)
{
	return runner < nr_kernels ? kernels[runner].name : "limit";
}

/* CPU time in ns: what else runs on the machine shall not count. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void fill(unsigned char *start, unsigned long bytes)
{
#ifdef __x86_64__
	long long *end = (long long *)(start + bytes);

	for (long long *p = (long long *)start; p < end; p += 8) {
		_mm_stream_si64(p, 1);
		_mm_stream_si64(p + 1, 2);
		_mm_stream_si64(p + 2, 3);
		_mm_stream_si64(p + 3, 4);
		_mm_stream_si64(p + 4, 5);
		_mm_stream_si64(p + 5, 6);
		_mm_stream_si64(p + 6, 7);
		_mm_stream_si64(p + 7, 8);
	}
#else
	memset(start, 1, bytes);
#endif
}

/* Fill what the kernels write: all, or the first entries of each compound page. */
static void fill_memmap(const struct result *r, const struct replay_case *c)
{
	unsigned long size = layout->page_struct_size, step = 1UL << c->order;

	if (!r->deduplicated)
		fill(entry(c->start_pfn), c->nr_pages * size);
	else
		for (unsigned long page = 0; page < c->nr_pages; page += step)
			fill(entry(c->start_pfn + page), layout->dedup_pages * size);
#ifdef __x86_64__
	_mm_sfence();
#endif
}

static double time_one(unsigned int runner, const struct result *r, const struct replay_case *c)
{
	double start = now();

	if (runner == limit)
		fill_memmap(r, c);
	else
		kernels[runner].side->run(c);
	return (now() - start) / r->nr_pages;
}

static void measure(struct result *r, const struct replay_case *c)
{
	unsigned long bytes = c->nr_pages * layout->page_struct_size;

	/* The kernel maps a deduplicated memmap with base pages. */
	madvise(entry(c->start_pfn), bytes, r->deduplicated ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	for (unsigned int i = 0; i < nr_runners; i++) {
		madvise(entry(c->start_pfn), bytes, MADV_DONTNEED);
		r->first_touch[i] = time_one(i, r, c);
	}
	/* Whatever drifts during a round must not always hit the same one: rotate. */
	for (unsigned int round = 0; round < r->rounds; round++)
		for (unsigned int i = 0; i < nr_runners; i++) {
			unsigned int runner = (i + round) % nr_runners;

			/* Every run starts alike, with none of the memmap in a cache. */
			fill_memmap(r, c);
			r->sample[runner][round] = time_one(runner, r, c);
		}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct summary summarise(const double *values, unsigned int n)
{
	double v[MAX_ROUNDS];

	memcpy(v, values, n * sizeof(*v));
	qsort(v, n, sizeof(*v), ascending);
	return (struct summary) {
		v[n / 4], (v[n / 2] + v[(n - 1) / 2]) / 2, v[n - 1 - n / 4],
	};
}

/* Median over the rounds of @a's time divided by @b's in the same round. */
static double ratio(const struct result *r, unsigned int a, unsigned int b)
{
	double quotient[MAX_ROUNDS];

	for (unsigned int i = 0; i < r->rounds; i++)
		quotient[i] = r->sample[a][i] / r->sample[b][i];
	return summarise(quotient, r->rounds).median;
}

static void print_head(void)
{
	printf("order");
	for (unsigned int i = 0; i < nr_runners; i++)
		printf("  %12s", runner_name(i));
	for (unsigned int i = 1; i < nr_kernels; i++)
		printf("  base/%-8s %8s/limit", runner_name(i), runner_name(i));
	printf("\n");
}

static void print_row(const struct result *r)
{
	printf("%4u%c", r->order, r->deduplicated ? 'd' : ' ');
	for (unsigned int i = 0; i < nr_runners; i++) {
		struct summary s = summarise(r->sample[i], r->rounds);

		printf("  %6.2f +-%2.0f%%", s.median, (s.high - s.low) / s.median * 50);
	}
	for (unsigned int i = 1; i < nr_kernels; i++)
		printf("  %12.2fx %13.2fx", ratio(r, 0, i), ratio(r, i, limit));
	printf("\n");
	fflush(stdout);
}

static void print_first_touch(const struct result *results, unsigned int n)
{
	char huge[64];

	printf("first touch of the memory, apart:");
	for (unsigned int i = 0; i < nr_runners; i++) {
		double times[MAX_ORDERS];

		for (unsigned int k = 0; k < n; k++)
			times[k] = results[k].first_touch[i];
		printf(" %s %.2f", runner_name(i), summarise(times, n).median);
	}
	proc_value("/proc/self/smaps_rollup", "AnonHugePages", huge, sizeof(huge));
	printf("; at the end %lu MiB in huge pages\n", strtoul(huge, NULL, 10) / 1024);
}

static void write_list(FILE *json, const char *name, const double *values, unsigned int n)
{
	fprintf(json, "\"%s\": [", name);
	for (unsigned int i = 0; i < n; i++)
		fprintf(json, "%s%.4f", i ? ", " : "", values[i]);
	fprintf(json, "]");
}

static void write_json(FILE *json, const char *cpu, const struct result *results,
		       unsigned int nr_results)
{
	fprintf(json, "{\"cpu\": \"%s\", \"unit\": \"ns of CPU time per struct page\",\n"
		"\"page_struct_size\": %u,\n\"results\": [", cpu, layout->page_struct_size);
	for (const struct result *r = results; r < results + nr_results; r++) {
		fprintf(json, "%s\n{\"device_gib\": %lu, \"order\": %u, \"deduplicated\": %s, "
			"\"pages\": %lu, \"samples\": {", r > results ? "," : "", r->device_gib,
			r->order, r->deduplicated ? "true" : "false", r->nr_pages);
		for (unsigned int i = 0; i < nr_runners; i++) {
			write_list(json, runner_name(i), r->sample[i], r->rounds);
			fprintf(json, i == limit ? "}, \"first_touch\": {" : ", ");
		}
		for (unsigned int i = 0; i < nr_runners; i++)
			fprintf(json, "\"%s\": %.4f%s", runner_name(i), r->first_touch[i],
				i == limit ? "}}" : ", ");
	}
	fprintf(json, "]}\n");
	if (fclose(json))
		die("cannot write the samples: is the disk full?");
}

/* The largest of @wanted, a half of it, a quarter... whose memmap fits. */
static unsigned long fitting_gib(unsigned long wanted)
{
	unsigned long gib = wanted, room;
	char kib[64];

	proc_value("/proc/meminfo", "MemAvailable", kib, sizeof(kib));
	room = strtoul(kib, NULL, 10) / 4 * 3 * 1024;
	while (gib > 1 && (gib * GIB >> layout->page_shift) * layout->page_struct_size > room)
		gib /= 2;
	if (gib != wanted)
		printf("%lu MiB of memory can be used: %lu GiB instead of %lu GiB\n",
		       room / MIB, gib, wanted);
	return gib;
}

int race(const struct race_options *options)
{
	struct replay_case c = { .start_pfn = START_PFN, .altmap = 1 };
	struct result *results = calloc(options->nr_orders, sizeof(*results));
	FILE *json = options->json ? fopen(options->json, "w") : NULL;
	unsigned long gib = fitting_gib(options->device_gib);
	cpu_set_t cpus;
	char cpu[128];

	if (!results)
		die("out of memory for the samples: fewer orders");
	if (options->json && !json)
		die("cannot write %s: choose another file", options->json);
	limit = nr_kernels;
	nr_runners = nr_kernels + 1;
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);

	c.nr_pages = gib * GIB >> layout->page_shift;
	window_open(c.nr_pages * layout->page_struct_size);
	window_place(START_PFN);

	cpu_name(cpu, sizeof(cpu));
	printf("%s; %lu GiB device, memmap of %lu MiB\n"
	       "CPU time in ns per struct page, median and half the quartiles' distance of %u rounds\n",
	       cpu, gib, c.nr_pages * layout->page_struct_size / MIB, options->rounds);
	print_head();
	crash_context = "race";
	for (unsigned int i = 0; i < options->nr_orders; i++) {
		struct result *r = &results[i];

		c.order = options->orders[i];
		c.type = type_index(c.order ? "generic" : "fs_dax");
		c.altmap = !options->deduplicated[i];
		r->device_gib = gib;
		r->order = c.order;
		r->deduplicated = options->deduplicated[i];
		r->nr_pages = c.nr_pages;
		if (r->deduplicated)
			r->nr_pages = (c.nr_pages >> c.order) * layout->dedup_pages;
		r->rounds = options->rounds;
		measure(r, &c);
		print_row(r);
	}
	print_first_touch(results, options->nr_orders);
	if (json)
		write_json(json, cpu, results, options->nr_orders);
	free(results);
	return 0;
}
