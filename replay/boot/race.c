// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the limit, a bare non-temporal fill of the same
 * bytes, in turn over the same memory.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "userspace.h"

#define START_PFN	(1UL << 20)

/* Times are ns per struct page; runners are the kernels, then the limit. */
static double samples[NR_BOOT][MAX_KERNELS + 1][MAX_ROUNDS];
static unsigned int nr_runners, limit;

static const char *runner_name(unsigned int runner)
{
	return runner < nr_kernels ? kernels[runner].name : "limit";
}

static void fill_memmap(const struct boot_case *c)
{
	stream(entry(c->start_pfn), c->nr_pages * layout->page_struct_size);
	stream_end();
}

static double time_one(unsigned int runner, const struct boot_case *c)
{
	double start;

	crash_kernel = runner_name(runner);
	if (runner != limit)
		boot_side(&kernels[runner])->prepare(c, boot_state());
	/* Every run starts alike, with none of the memmap in a cache. */
	fill_memmap(c);
	start = cpu_time();
	if (runner == limit)
		fill_memmap(c);
	else
		boot_side(&kernels[runner])->run(c);
	return (cpu_time() - start) / c->nr_pages;
}

static void print_head(void)
{
	printf("%8s", "");
	for (unsigned int i = 0; i < nr_runners; i++)
		printf("  %12s", runner_name(i));
	for (unsigned int i = 1; i < nr_kernels; i++)
		printf("  base/%-8s %8s/limit", runner_name(i), runner_name(i));
	printf("\n");
}

static void print_row(enum boot_what what, unsigned int rounds)
{
	double (*row)[MAX_ROUNDS] = samples[what];

	printf("%-8s", boot_name(what));
	for (unsigned int i = 0; i < nr_runners; i++) {
		struct summary s = summarise(row[i], rounds);

		printf("  %6.2f +-%2.0f%%", s.median, (s.high - s.low) / s.median * 50);
	}
	for (unsigned int i = 1; i < nr_kernels; i++)
		printf("  %12.2fx %13.2fx", median_ratio(row[0], row[i], rounds),
		       median_ratio(row[i], row[limit], rounds));
	printf("\n");
	fflush(stdout);
}

static void write_json(const char *file, const char *cpu, unsigned long gib, unsigned int rounds)
{
	FILE *json = open_samples(file);

	fprintf(json, "{\"cpu\": \"%s\", \"unit\": \"ns of CPU time per struct page\",\n"
		"\"page_struct_size\": %u,\n\"results\": [", cpu, layout->page_struct_size);
	for (enum boot_what what = 0; what < NR_BOOT; what++) {
		fprintf(json, "%s\n{\"what\": \"%s\", \"gib\": %lu, \"samples\": {",
			what ? "," : "", boot_name(what), gib);
		for (unsigned int i = 0; i < nr_runners; i++) {
			write_list(json, runner_name(i), samples[what][i], rounds);
			fprintf(json, i == limit ? "}}" : ", ");
		}
	}
	fprintf(json, "]}\n");
	close_samples(json);
}

int boot_race(unsigned long wanted, unsigned int rounds, const char *json)
{
	unsigned long gib = fitting_gib(wanted);
	struct boot_case c = {
		.start_pfn = START_PFN,
		.nr_pages = gib * GIB >> layout->page_shift,
		.zone = boot_side(&kernels[0])->zones[0],
	};
	char cpu[128];

	limit = nr_kernels;
	nr_runners = nr_kernels + 1;
	stay_on_cpu();
	window_open(c.nr_pages * layout->page_struct_size);
	window_place(START_PFN);
	cpu_name(cpu, sizeof(cpu));
	printf("%s; zone of %lu GiB, memmap of %lu MiB\n"
	       "CPU time in ns per struct page, median and half the quartiles' distance of %u rounds\n",
	       cpu, gib, c.nr_pages * layout->page_struct_size / MIB, rounds);
	print_head();
	crash_context = "race";
	for (c.what = 0; c.what < NR_BOOT; c.what++) {
		/* Whatever drifts during a round must not always hit the same one: rotate. */
		for (unsigned int round = 0; round < rounds; round++)
			for (unsigned int i = 0; i < nr_runners; i++) {
				unsigned int runner = (i + round) % nr_runners;

				samples[c.what][runner][round] = time_one(runner, &c);
			}
		print_row(c.what, rounds);
	}
	if (json)
		write_json(json, cpu, gib, rounds);
	return 0;
}
