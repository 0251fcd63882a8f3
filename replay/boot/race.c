// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the limit, a bare non-temporal fill of the same
 * bytes, in turn over the same memory.
 */
#include "userspace.h"

#define START_PFN	(1UL << 20)

#define MAX_ROWS	16

static struct boot_case rows[MAX_ROWS];
static unsigned int nr_rows;
static unsigned int row_threads[MAX_ROWS];	/* 0: by CPU time, one */

/* What is filled, in so many pieces */
static const struct boot_case *filled;
static unsigned int pieces;

static void fill_piece(unsigned long i)
{
	unsigned long all = filled->nr_pages, from = all * i / pieces, to = all * (i + 1) / pieces;

	stream(entry(filled->start_pfn + from), (to - from) * layout->page_struct_size);
	stream_end();
}

static void fill(const struct boot_case *c, unsigned int threads)
{
	filled = c;
	pieces = threads * PIECES;
	threads_share(threads, pieces, fill_piece);
}

static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	const struct boot_side *side = runner < nr_kernels ? boot_side(&kernels[runner]) : NULL;
	const struct boot_case *c = &rows[row];
	unsigned int threads = row_threads[row];
	unsigned long freed = c->nr_pages;
	double ns;

	/* Every run starts alike, with hardly any of the memmap in a cache. */
	fill(c, 1);
	if (side && threads)
		side->side.set_cpus(threads, 0);
	if (side)
		side->prepare(c, boot_state);
	ns = threads ? wall_time() : cpu_time();
	if (side)
		side->run(c);
	else
		fill(c, threads ?: 1);
	ns = (threads ? wall_time() : cpu_time()) - ns;
	/* Whatever the threads did to each other, all memory is free. */
	if (side && threads)
		freed = side->walk(c);
	if (freed != c->nr_pages)
		die("%s freed %lu pages of %lu", crash_kernel, freed, c->nr_pages);
	*figures = ns / c->nr_pages;
}

static void write_row(FILE *json, unsigned int row)
{
	const struct boot_case *c = &rows[row];

	fprintf(json, "\"what\": \"%s\", \"gib\": %lu, ", boot_name(c->what),
		c->nr_pages / (GIB >> layout->page_shift));
	if (row_threads[row])
		fprintf(json, "\"threads\": %u, ", row_threads[row]);
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
		.nr_reserved = what == BOOT_RESERVED,
		.reserved = { { START_PFN, START_PFN + (gib * GIB >> layout->page_shift) } },
	};
}

static int run_rows(const char *unit, unsigned long gib, int nr, char **words)
{
	struct race race = {
		.unit = unit,
		.nr_rows = nr_rows,
		.nr_runners = nr_kernels + 1,
		.figures = { "samples" },
		.name_runner = name_kernel,
		.write_row = write_row,
		.time_one = time_one,
	};

	window_open((gib * GIB >> layout->page_shift) * layout->page_struct_size);
	window_place(START_PFN);
	return run_race(&race, nr, words);
}

static unsigned long read_zone(int nr, char **words, int which)
{
	return fitting_gib(read_within(nr, words, which, 16, 256, "a zone has GiB:"),
			   layout->page_struct_size, 1UL << layout->page_shift);
}

int race_boot(int nr, char **words)
{
	enum boot_what what = read_what(nr, words);
	unsigned long gib = read_zone(nr, words, 1);

	if (what == BOOT_ONLINE) {
		add_row(what, gib, 128);
		add_row(what, gib, 1024);
	}
	if (what != BOOT_ONLINE || gib > 1)
		add_row(what, gib, what == BOOT_ONLINE ? 2048 : 0);
	stay_on_cpu();
	return run_rows("ns of CPU time per struct page", gib, nr - 2, words + 2);
}

int race_threads(int nr, char **words)
{
	unsigned long gib = read_zone(nr, words, 0);
	unsigned int all = threads_start_all();

	for (unsigned int n = 1; n < all; n *= 2) {
		row_threads[nr_rows] = n;
		add_row(BOOT_DEFERRED, gib, 0);
	}
	row_threads[nr_rows] = all;
	add_row(BOOT_DEFERRED, gib, 0);
	return run_rows("ns of wall clock per struct page", gib, nr - 1, words + 1);
}
