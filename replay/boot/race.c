// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the limit, a bare non-temporal fill of the same
 * bytes, in turn over the same memory.
 */
#include "userspace.h"

#define START_PFN	(1UL << 20)

static struct boot_case rows[4];
static unsigned int nr_rows;

static void fill_memmap(const struct boot_case *c)
{
	stream(entry(c->start_pfn), c->nr_pages * layout->page_struct_size);
	stream_end();
}

static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	const struct boot_case *c = &rows[row];
	const struct boot_side *side = boot_side(&kernels[runner % nr_kernels]);
	double start;

	/* Every run starts alike, with hardly any of the memmap in a cache. */
	fill_memmap(c);
	side->prepare(c, boot_state());
	start = cpu_time();
	if (runner == nr_kernels)
		fill_memmap(c);
	else
		side->run(c);
	*figures = (cpu_time() - start) / c->nr_pages;
}

static void write_row(FILE *json, unsigned int row)
{
	const struct boot_case *c = &rows[row];

	fprintf(json, "\"what\": \"%s\", \"gib\": %lu, ", boot_name(c->what),
		c->nr_pages / (GIB >> layout->page_shift));
	if (c->block_pages)
		fprintf(json, "\"block_mib\": %lu, ", (c->block_pages << layout->page_shift) / MIB);
}

static void add_row(enum boot_what what, unsigned long gib, unsigned long block_mib)
{
	rows[nr_rows++] = (struct boot_case) {
		.what = what,
		.start_pfn = START_PFN,
		.nr_pages = gib * GIB >> layout->page_shift,
		.block_pages = block_mib * MIB >> layout->page_shift,
		.zone = boot_side(&kernels[0])->zones[0],
	};
}

int race_boot(enum boot_what what, unsigned long gib, unsigned int rounds, const char *json)
{
	struct race race = {
		.unit = "ns of CPU time per struct page",
		.nr_runners = nr_kernels + 1,
		.rounds = rounds,
		.figures = { "samples" },
		.name_runner = name_kernel,
		.write_row = write_row,
		.time_one = time_one,
	};

	gib = fitting_memmap(gib);
	if (what == BOOT_HUGETLB && gib > 1)
		add_row(what, 1, 0);
	if (what == BOOT_ONLINE) {
		add_row(what, gib, 128);
		add_row(what, gib, 1024);
	}
	if (what != BOOT_ONLINE || gib > 1)
		add_row(what, gib, what == BOOT_ONLINE ? 2048 : 0);
	race.nr_rows = nr_rows;
	stay_on_cpu();
	window_open((gib * GIB >> layout->page_shift) * layout->page_struct_size);
	window_place(START_PFN);
	return run_race(&race, json);
}
