// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: a bind and an unbind by each kernel and, as the limit, a bare fill of
 * what is written of the memmap, in turn over the same memory.
 */
#include "userspace.h"

#define MAX_ROWS	16

static struct row {
	struct replay_case c;
	bool init_on_alloc;
	unsigned long gib;
	double parts[MAX_KERNELS + 1][MAX_ROUNDS][NR_BIND_PARTS];
	unsigned int rounds[MAX_KERNELS + 1];
	struct bind_counts counts[MAX_KERNELS];
} rows[MAX_ROWS];
static unsigned int nr_rows;

static void fill(const struct replay_case *c)
{
	unsigned long step = c->order && !c->altmap ? 1UL << c->order : c->nr_pages, pfn;
	unsigned long pages = c->order && !c->altmap ? layout->dedup_pages : c->nr_pages;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += step)
		stream(entry(pfn), pages * layout->page_struct_size);
	stream_end();
}

static void time_one(unsigned int number, unsigned int runner, double *figures)
{
	struct row *row = &rows[number];
	double *parts = row->parts[runner][row->rounds[runner]++];
	const struct bind_side *side = runner < nr_kernels ? bind_side(&kernels[runner]) : NULL;

	for (unsigned int i = 0; i < nr_kernels; i++)
		set_key(bind_side(&kernels[i])->init_on_alloc, row->init_on_alloc);
	if (side)
		side->prepare(&row->c, bind_state);
	/* Every run starts alike, with hardly any of the memmap in a cache. */
	fill(&row->c);
	*figures = 0;
	for (int part = 0; part < NR_BIND_PARTS; part++) {
		double ns = cpu_time();

		if (side)
			bind_run(side, &row->c, part);
		else if (part == BIND_FILL)
			fill(&row->c);
		parts[part] = (cpu_time() - ns) / 1e6;
		*figures += parts[part];
	}
	if (side)
		side->count(&row->counts[runner]);
}

/* Nothing is touched for the first time later on. */
static void start_row(unsigned int number)
{
	double figure;

	for (unsigned int runner = 0; runner <= nr_kernels; runner++) {
		time_one(number, runner, &figure);
		rows[number].rounds[runner] = 0;
	}
}

static void write_row(FILE *json, unsigned int number)
{
	static const char *const names[] = { "populate", "fill", "free" };
	struct row *row = &rows[number];

	fprintf(json, "\"gib\": %lu, \"order\": %u, \"altmap\": %u, \"init_on_alloc\": %u, ",
		row->gib, row->c.order, row->c.altmap, row->init_on_alloc);
	for (unsigned int i = 0; i < nr_kernels; i++) {
		struct bind_counts *n = &row->counts[i];

		fprintf(json, "\"%s\": {\"flushes\": %lu, \"locks\": %lu, \"allocated\": %lu, ",
			kernels[i].name, n->flushes, n->locks, n->allocated);
		for (int part = 0; part < NR_BIND_PARTS; part++) {
			double values[MAX_ROUNDS];

			for (unsigned int j = 0; j < row->rounds[i]; j++)
				values[j] = row->parts[i][j][part];
			fprintf(json, "\"%s\": %.4f%s", names[part],
				median(values, row->rounds[i]), part == BIND_FREE ? "}, " : ", ");
		}
	}
}

static void add_row(unsigned long gib, unsigned int order, bool altmap, bool init)
{
	rows[nr_rows++] = (struct row) {
		.c = bind_case(gib, order, altmap), .init_on_alloc = init, .gib = gib,
	};
}

int race_bind(int nr, char **words)
{
	unsigned long gib = read_within(nr, words, 0, 16, 100, "a device has GiB:");
	struct race race = {
		.unit = "ms of CPU time for a bind and an unbind",
		.nr_runners = nr_kernels + 1,
		.rounds = read_rounds(nr, words, 1),
		.figures = { "samples" },
		.name_runner = name_kernel,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
	};

	for (int init = 1; init >= 0; init--)
		for (int order = 0; order <= 18; order += 9)
			add_row(gib, order, false, init);
	add_row(gib, 0, true, true);
	race.nr_rows = nr_rows;
	stay_on_cpu();
	window_open((BIND_DEVICE_PFN - BIND_RAM_PFN + rows[0].c.nr_pages) *
		    layout->page_struct_size);
	window_place(BIND_RAM_PFN);
	return run_race(&race, nr > 2 ? words[2] : NULL);
}
