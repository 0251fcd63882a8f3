// SPDX-License-Identifier: GPL-2.0
/*
 * The bind replay. Equality: after a bind, or one that fails, page tables entry by
 * entry, references, struct pages and warnings; after an unbind, that all pages are
 * returned; and what was freed when. Speed: a bind and an unbind by each kernel and,
 * as the limit, a bare fill of what is written of the memmap.
 */
#include <string.h>

#include "../userspace.h"
#include "bind.h"

#define USED		(64 * MIB)	/* of RAM by a case that is compared, at most */

const char usage[] =
"usage: bind check                         compare page tables, references, memmaps and counts\n"
"       bind race [MIB [ROUNDS [JSON]]]    time devices of MIB MiB; the samples go to JSON\n"
"       bind info                          the kernels and their struct page\n";

/* What printk_once() has printed; build.py gives the section this name. */
extern char __start_dataonce[], __stop_dataonce[];

static void *bind_state;
static bool is_wrong;
/* Pages that the base has allocated for the last case. */
static unsigned long needed;

static struct row {
	struct bind_case c;
	bool init_on_alloc, safe_returns;
	struct bind_counts counts[MAX_KERNELS];		/* of the last round */
} rows[16];
static unsigned int nr_rows;

KERNEL_CALLS
void *replay_memory(void)
{
	static unsigned long memory;

	if (!memory)
		memory = ((unsigned long)map_at(0, 513 * GIB) + GIB - 1) & -GIB;
	return (void *)memory;
}

static const struct bind_side *bind_side(unsigned int kernel)
{
	return (const struct bind_side *)kernels[kernel].side;
}

void prepare_kernels(void)
{
	bind_state = map_at(0, bind_side(0)->state_size);
	patch_alternatives();
	write_returns(false);
}

/* A device of so many MiB, and RAM in plenty; @altmap as --map=dev. */
static struct bind_case make_case(unsigned long mib, unsigned int order, bool altmap)
{
	unsigned long pages = mib * MIB >> layout->page_shift;
	unsigned long memmap = pages * layout->page_struct_size >> layout->page_shift;
	struct bind_case c = {
		.start_pfn = BIND_DEVICE_PFN,
		.nr_pages = pages,
		.order = order,
		.altmap = altmap,
		.ram_pages = memmap + (64 * MIB >> layout->page_shift),
	};

	if (altmap) {
		/* As ndctl: the memmap, and 2 MiB for the labels and the alignment. */
		c.reserve = 2;
		c.offset = memmap + 512 - c.reserve;
	}
	return c;
}

static void set_init_on_alloc(bool on)
{
	for (unsigned int i = 0; i < nr_kernels; i++)
		set_key(bind_side(i)->init_on_alloc, on);
}

static void must_be_none(const char *what, unsigned long nr)
{
	if (!nr)
		return;
	printf("DIFFERS %s\n  %s: %s: %lu\n", crash_context, crash_kernel, what, nr);
	is_wrong = true;
}

static void run_case(const struct replay_side *replay_side, const struct replay_case *replay_case,
		     bool traced)
{
	const struct bind_side *side = (const struct bind_side *)replay_side;
	const struct bind_case *c = (const struct bind_case *)replay_case;
	struct bind_counts before, after;

	/* Memory is allocated from the start on; it is not zero. */
	memset(replay_memory(), 0x5a, USED);
	memset(__start_dataonce, 0, __stop_dataonce - __start_dataonce);
	side->prepare(c, bind_state);
	side->count(&before);
	if (side->parts[BIND_POPULATE](c))
		side->parts[BIND_FILL](c);
	side->walk(c);
	side->count(&after);
	if (side == bind_side(0))
		needed = after.allocated;
	side->parts[BIND_UNMAP](c);
	/* Again, in memory that was used and returned, in whichever order. */
	side->parts[BIND_POPULATE](c);
	side->parts[BIND_UNMAP](c);
	side->walk(c);
	side->count(&after);
	/* The table of 1 GiB of vmemmap and those above stay. */
	if (before.free_pages - after.free_pages > 8)
		must_be_none("pages not returned", before.free_pages - after.free_pages);
	if (side != bind_side(0))
		must_be_none("pages freed before they were unmapped", after.early);
}

static void check_case(const struct bind_case *c, const char *what, unsigned long nr)
{
	static char name[128];

	snprintf(name, sizeof(name), "bind of %lu MiB, order %u%s, %s %lu",
		 (c->nr_pages << layout->page_shift) / MIB, c->order, c->altmap ? ", map=dev" : "",
		 what, nr);
	compare((const struct replay_case *)c, name);
}

static void check_order(unsigned int order)
{
	struct bind_case c = make_case(1024, order, false);
	unsigned long enough;

	check_case(&c, "pages of memory:", c.ram_pages);
	enough = needed;
	/* The more memory there is, the later it is used up. */
	for (unsigned long i = 0; i < 12; i++) {
		c.ram_pages = 1 + (enough - 1) * i / 12;
		check_case(&c, "pages of memory:", c.ram_pages);
	}
	/* There is a warning where vmemmap is allocated on a far node. */
	c.ram_pages = enough;
	for (unsigned long i = 0; i < 12; i++) {
		c.far_pfn = BIND_RAM_PFN + enough * i / 12;
		check_case(&c, "far page", c.far_pfn);
	}
}

static int check_bind(int nr, char **words)
{
	const struct comparison comparison = { .guard = 64, .run = run_case };

	compare_open(BIND_RAM_PFN - BIND_DEVICE_PFN + (GIB >> layout->page_shift), &comparison);
	for (unsigned int i = 0; i < 8; i++)
		for (unsigned int order = 0; order <= 18; order += 9) {
			struct bind_case c = make_case(i & 4 ? 2048 : 1024, order, i & 2);

			/* What another driver left: fsdev relies on none of it to survive. */
			c.poison = i % NR_POISON;
			set_init_on_alloc(i & 1);
			check_case(&c, "init_on_alloc", i & 1);
		}
	for (unsigned int order = 0; order <= 18; order += 9)
		check_order(order);
	return compare_summary() | is_wrong;
}

static void fill(const struct bind_case *c)
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
	const struct bind_case *c = &row->c;
	const struct bind_side *side = runner < nr_kernels ? bind_side(runner) : NULL;

	if (side)
		side->prepare(c, bind_state);
	/* Every run starts alike, with hardly any of the memmap in a cache. */
	fill(c);
	figures[0] = 0;
	for (int part = 0; part < NR_BIND_PARTS; part++) {
		double ns = cpu_time();

		if (!side && part == BIND_FILL)
			fill(c);
		if (side && !side->parts[part](c))
			die("%s is out of memory", crash_kernel);
		figures[1 + part] = (cpu_time() - ns) / 1e6;
		figures[0] += figures[1 + part];
	}
	if (side)
		side->count(&row->counts[runner]);
}

/* Nothing is touched for the first time later on. */
static void start_row(unsigned int number)
{
	double figures[MAX_FIGURES];

	set_init_on_alloc(rows[number].init_on_alloc);
	write_returns(rows[number].safe_returns);
	for (unsigned int runner = 0; runner <= nr_kernels; runner++)
		time_one(number, runner, figures);
}

static void write_row(FILE *json, unsigned int number)
{
	struct row *row = &rows[number];

	fprintf(json, "\"mib\": %lu, \"order\": %u, \"altmap\": %u, \"init_on_alloc\": %u, ",
		(row->c.nr_pages << layout->page_shift) / MIB, row->c.order, row->c.altmap,
		row->init_on_alloc);
	fprintf(json, "\"safe_ret\": %u, ", row->safe_returns);
	for (unsigned int i = 0; i < nr_kernels; i++)
		fprintf(json, "\"%s\": {\"flushes\": %lu, \"locks\": %lu, \"allocated\": %lu}, ",
			kernels[i].name, row->counts[i].flushes, row->counts[i].locks,
			row->counts[i].allocated);
}

static void add_rows(unsigned long mib, bool init_on_alloc, bool safe_returns)
{
	for (unsigned int i = 0; i < 5; i++) {
		unsigned int order = i % 3 * 9;
		bool altmap = i >= 3;

		/* A device has whole compound pages; --map=dev allocates next to nothing. */
		if (mib * MIB >> layout->page_shift >> order && (init_on_alloc || !altmap))
			rows[nr_rows++] = (struct row) {
				.c = make_case(mib, order, altmap),
				.init_on_alloc = init_on_alloc,
				.safe_returns = safe_returns,
			};
	}
}

static int race_bind(int nr, char **words)
{
	unsigned long mib = read_within(nr, words, 0, 16384, 102400, "a device has MiB:");
	struct race race = {
		.unit = "ms of CPU time for a bind and an unbind",
		.nr_runners = nr_kernels + 1,
		.figures = { "samples", "populate", "fill", "unmap" },
		.name_runner = name_kernel,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
	};
	char bugs[256];

	/* The memmap twice: where it is filled, and where it is allocated. */
	if (mib > 1024)
		mib = fitting_gib(mib / 1024, 2 * layout->page_struct_size,
				  1UL << layout->page_shift) * 1024;
	proc_value("/proc/cpuinfo", "bugs", bugs, sizeof(bugs));
	for (int safe = !!strstr(bugs, " srso"); safe >= 0; safe--)
		for (int init = 1; init >= 0; init--)
			add_rows(mib, init, safe);
	race.nr_rows = nr_rows;
	stay_on_cpu();
	window_open((BIND_RAM_PFN - BIND_DEVICE_PFN + rows[0].c.ram_pages) *
		    layout->page_struct_size);
	window_place(BIND_DEVICE_PFN);
	return run_race(&race, nr - 1, words + 1);
}

const struct command commands[] = {
	{ "check", 0, check_bind },
	{ "race", 3, race_bind },
	{ }
};
