// SPDX-License-Identifier: GPL-2.0
/*
 * Equality: the cases of the boot replay. Besides the memmap, these are compared:
 * every byte of zone, pageblock bitmaps and counters, and as events the blocks on
 * the free lists in their order.
 */
#include <string.h>

#include "userspace.h"

#define GUARD		1024UL			/* entries on either side */
#define START_PFN	(1UL << 20)
#define MAX_PAGES	(640UL << 10)		/* more than two batches */

const char usage[] =
"usage: boot random WHAT [FIRST [CASES [SEED]]]   compare memmaps and free lists byte for byte\n"
"       boot race WHAT [GIB [ROUNDS [JSON]]]      time GIB GiB; the samples go to JSON\n"
"       boot threads [GIB [ROUNDS [JSON]]]        time deferred GIB GiB by wall clock, by threads\n"
"       boot info                                 the kernels and their struct page\n"
"WHAT is deferred, reserved or online\n";

void *boot_state;

void prepare_kernels(void)
{
	boot_state = map_at(0, boot_side(&kernels[0])->state_size);
	for (unsigned int i = 1; i < nr_kernels; i++)
		if (boot_side(&kernels[i])->state_size != boot_side(&kernels[0])->state_size)
			die("struct zone or its like differs between base and %s", kernels[i].name);
}

enum boot_what read_what(int nr, char **words)
{
	for (unsigned int what = 0; nr && what < NR_BOOT; what++)
		if (!strcmp(words[0], boot_name(what)))
			return what;
	fputs(usage, stderr);
	die("say what: deferred, reserved or online");
}

/*
 * Nobody reads the list head of a page that is on no list. The base has it point to itself, and
 * the series may clear it. All else, such as a copy of another page's pointer, is a difference.
 */
static void clear_empty_lists(const struct replay_case *c)
{
	const struct boot_side *base = boot_side(&kernels[0]);
	unsigned long end = c->start_pfn + c->nr_pages + GUARD;

	for (unsigned long pfn = c->start_pfn - GUARD; pfn < end; pfn++) {
		unsigned long *lru = (unsigned long *)(entry(pfn) + base->lru);

		for (int i = 0; i < 2; i++)
			if (lru[i] == (unsigned long)lru)
				lru[i] = 0;
	}
}

static void run(const struct replay_side *side, const struct replay_case *memory, bool traced)
{
	const struct boot_side *boot = (const struct boot_side *)side;
	const struct boot_case *c = (const struct boot_case *)memory;

	boot->prepare(c, boot_state);
	side->trace(traced);
	boot->run(c);
	side->trace(0);
	boot->walk(c);
	clear_empty_lists(memory);
}

static void reserve(struct boot_case *c, unsigned long from, unsigned long to)
{
	unsigned long end = c->start_pfn + c->nr_pages;

	if (from < c->start_pfn || from >= end || from >= to || c->nr_reserved == BOOT_MAX_RESERVED)
		return;
	c->reserved[c->nr_reserved][0] = from;
	c->reserved[c->nr_reserved++][1] = to < end ? to : end;
}

/* Near @pfn: often a middle or an end of a block, or what is beside it. */
static unsigned long random_edge(uint64_t *state, unsigned long pfn)
{
	unsigned long half = boot_side(&kernels[0])->block_pages / 2;

	return below(state, 2) ? pfn : pfn + half - pfn % half + below(state, 3) - 1;
}

static void random_case(uint64_t seed, unsigned long number, struct boot_case *c)
{
	const struct boot_side *side = boot_side(&kernels[0]);
	uint64_t state = seed * 0x100000001b3 + number;
	unsigned long section = layout->pages_per_section, pfn;

	c->zone = side->zones[below(&state, 2)];
	c->node = below(&state, layout->nr_nodes);
	c->checked = layout->can_check && !below(&state, 4);
	c->poison = below(&state, NR_POISON);
	if (c->what == BOOT_ONLINE) {
		c->block_pages = (1 + below(&state, 16)) * section;
		c->nr_pages = (1 + below(&state, MAX_PAGES / c->block_pages)) * c->block_pages;
		c->start_pfn = START_PFN + below(&state, 8) * c->block_pages;
		if (below(&state, 2))
			c->memmap_pages = below(&state, c->block_pages / side->pageblock_pages) *
					  side->pageblock_pages;
		c->callback = !below(&state, 4);
		return;
	}
	c->start_pfn = START_PFN + below(&state, 64) * section;
	c->nr_pages = below(&state, 8) ? (1 + below(&state, 4)) * section : MAX_PAGES;
	/* The zone ends anywhere; it starts where a section does, as what is deferred. */
	if (!below(&state, 3))
		c->nr_pages -= below(&state, section);
	if (c->what == BOOT_RESERVED && below(&state, 4)) {
		c->lower_pages = below(&state, (c->nr_pages - 1) / side->block_pages + 1) *
				 side->block_pages;
		c->lower_zone = below(&state, c->zone);
	}
	for (pfn = c->start_pfn; below(&state, 8); ) {
		unsigned long from, to;

		from = random_edge(&state, pfn + below(&state, 1UL << below(&state, 16)));
		to = random_edge(&state, from + 1 + below(&state, 1UL << below(&state, 14)));
		reserve(c, from, to);
		pfn = to + 1;
	}
}

static int check_random(int nr, char **words)
{
	enum boot_what what = read_what(nr, words);
	unsigned long first = read_word(nr, words, 1, 0), most = read_word(nr, words, 2, 300);
	unsigned long seed = read_word(nr, words, 3, 1);
	const struct comparison comparison = {
		.guard = GUARD,
		.state = boot_state,
		.state_size = boot_side(&kernels[0])->state_size,
		.run = run,
	};
	char name[128];

	compare_open(MAX_PAGES, &comparison);
	for (unsigned long i = first; i - first < most; i++) {
		struct boot_case c = { .what = what };

		random_case(seed, i, &c);
		snprintf(name, sizeof(name), "boot random %s %lu 1 %lu", boot_name(what), i, seed);
		compare((struct replay_case *)&c, name);
	}
	return compare_summary();
}

const struct command commands[] = {
	{ "random", 4, check_random },
	{ "race", 4, race_boot },
	{ "threads", 3, race_threads },
	{ }
};
