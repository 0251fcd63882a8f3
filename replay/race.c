// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the limit, a bare non-temporal fill of the same
 * bytes, in turn over the same memory.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "userspace.h"

#define MAX_RUNNERS	8
#define START_PFN	(1UL << 20)	/* 4 GiB: aligned to every order */

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

/* Fill what the kernels write: all, or the first entries of each compound page. */
static void fill_memmap(const struct result *r, const struct replay_case *c)
{
	unsigned long size = layout->page_struct_size, step = 1UL << c->order;

	if (!r->deduplicated)
		stream(entry(c->start_pfn), c->nr_pages * size);
	else
		for (unsigned long done = 0; done < c->nr_pages; done += step)
			stream(entry(c->start_pfn + done), layout->dedup_pages * size);
	stream_end();
}

static double time_one(unsigned int runner, const struct result *r, const struct replay_case *c)
{
	double start = cpu_time();

	crash_kernel = runner_name(runner);
	if (runner == limit)
		fill_memmap(r, c);
	else
		kernels[runner].side->run(c);
	return (cpu_time() - start) / r->nr_pages;
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
		printf("  %12.2fx %13.2fx", median_ratio(r->sample[0], r->sample[i], r->rounds),
		       median_ratio(r->sample[i], r->sample[limit], r->rounds));
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

static void write_json(FILE *json, const char *cpu, const struct result *results,
		       unsigned int nr_results)
{
	fprintf(json, "{\"cpu\": \"%s\", \"unit\": \"ns of CPU time per struct page\",\n"
		"\"page_struct_size\": %u,\n\"results\": [", cpu, layout->page_struct_size);
	for (const struct result *r = results; r < results + nr_results; r++) {
		fprintf(json, "%s\n{\"device_gib\": %lu, \"order\": %u, ",
			r > results ? "," : "", r->device_gib, r->order);
		fprintf(json, "\"deduplicated\": %s, \"pages\": %lu, \"samples\": {",
			r->deduplicated ? "true" : "false", r->nr_pages);
		for (unsigned int i = 0; i < nr_runners; i++) {
			write_list(json, runner_name(i), r->sample[i], r->rounds);
			fprintf(json, i == limit ? "}, \"first_touch\": {" : ", ");
		}
		for (unsigned int i = 0; i < nr_runners; i++)
			fprintf(json, "\"%s\": %.4f%s", runner_name(i), r->first_touch[i],
				i == limit ? "}}" : ", ");
	}
	fprintf(json, "]}\n");
	close_samples(json);
}

int race(const struct race_options *options)
{
	struct replay_case c = { .start_pfn = START_PFN, .altmap = 1 };
	struct result *results = calloc(options->nr_orders, sizeof(*results));
	FILE *json = options->json ? open_samples(options->json) : NULL;
	unsigned long gib = fitting_gib(options->device_gib);
	char cpu[128];

	if (!results)
		die("out of memory for the samples: fewer orders");
	limit = nr_kernels;
	nr_runners = nr_kernels + 1;
	stay_on_cpu();

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
		c.type = type_value(c.order ? "generic" : "fs_dax");
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
