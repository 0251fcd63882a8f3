// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the limit, a bare non-temporal fill of the same
 * bytes, in turn over the same memory.
 */
#include "userspace.h"

#define START_PFN	(1UL << 20)

static struct boot_case call;

static void fill_memmap(void)
{
	stream(entry(call.start_pfn), call.nr_pages * layout->page_struct_size);
	stream_end();
}

static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	double start;

	call.what = row;
	if (runner != nr_kernels)
		boot_side(&kernels[runner])->prepare(&call, boot_state());
	/* Every run starts alike, with none of the memmap in a cache. */
	fill_memmap();
	start = cpu_time();
	if (runner == nr_kernels)
		fill_memmap();
	else
		boot_side(&kernels[runner])->run(&call);
	*figures = (cpu_time() - start) / call.nr_pages;
}

static void write_row(FILE *json, unsigned int row)
{
	fprintf(json, "\"what\": \"%s\", \"gib\": %lu, ", boot_name(row),
		call.nr_pages / (GIB >> layout->page_shift));
}

int race_boot(unsigned long gib, unsigned int rounds, const char *json)
{
	const struct race race = {
		.unit = "ns of CPU time per struct page",
		.nr_rows = NR_BOOT,
		.nr_runners = nr_kernels + 1,
		.rounds = rounds,
		.figures = { "samples" },
		.name_runner = name_kernel,
		.write_row = write_row,
		.time_one = time_one,
	};

	call = (struct boot_case) {
		.start_pfn = START_PFN,
		.nr_pages = fitting_memmap(gib) * GIB >> layout->page_shift,
		.zone = boot_side(&kernels[0])->zones[0],
	};
	stay_on_cpu();
	window_open(call.nr_pages * layout->page_struct_size);
	window_place(START_PFN);
	return run_race(&race, json);
}
