// SPDX-License-Identifier: GPL-2.0
/*
 * Equality: the cases of the boot replay. Besides the memmap, these are compared:
 * every byte of zone, pageblock bitmaps and counters, and as events the blocks on
 * the free lists in their order.
 */
#include <limits.h>

#include "userspace.h"

#define GUARD		1024UL			/* entries on either side */
#define START_PFN	(1UL << 20)
#define MAX_PAGES	(640UL << 10)		/* more than two batches */

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

/* Where memory is reserved; false if there is no such pattern. */
static bool reserve_pattern(struct boot_case *c, unsigned int pattern)
{
	unsigned long block = boot_side(&kernels[0])->block_pages, nr = c->nr_pages;
	const unsigned long patterns[][4][2] = {
		{ },
		/* single pages at the edges of blocks */
		{ { 0, 1 }, { 3 * block - 1, 3 * block }, { 5 * block, 5 * block + 1 },
		  { nr - 1, nr } },
		/* halves of blocks, and whole ones */
		{ { block / 2, block }, { 2 * block, 3 * block },
		  { 4 * block + 3, 6 * block + 5 }, { nr - block / 2, nr } },
		/* all but one block in the middle */
		{ { 0, 4 * block }, { 5 * block, nr } },
	};

	if (pattern >= sizeof(patterns) / sizeof(*patterns))
		return false;
	for (int i = 0; i < 4; i++)
		reserve(c, c->start_pfn + patterns[pattern][i][0],
			c->start_pfn + patterns[pattern][i][1]);
	return true;
}

/* Blocks of @sections, as many as @blocks, the first of them the @at-th that there can be. */
static void place_blocks(struct boot_case *c, unsigned long sections, unsigned long blocks,
			 unsigned long at)
{
	c->block_pages = sections * layout->pages_per_section;
	c->nr_pages = blocks * c->block_pages;
	c->start_pfn = START_PFN + at * c->block_pages;
}

static bool online_case(unsigned long number, struct boot_case *c)
{
	static const unsigned long blocks[][2] = { { 1, 1 }, { 1, 5 }, { 8, 2 }, { 16, 1 } };
	unsigned long pageblock = boot_side(&kernels[0])->pageblock_pages;

	place_blocks(c, blocks[number % 4][0], blocks[number % 4][1], number / 4 % 2 * 7);
	number /= 8;
	/* The memmap itself takes nothing, a pageblock, several, all but one. */
	c->memmap_pages = number == 3 ? c->block_pages - pageblock : number * pageblock;
	return number < 4;
}

/* Case @number of the list; false behind its end. */
static bool matrix_case(unsigned long number, struct boot_case *c)
{
	const struct boot_side *side = boot_side(&kernels[0]);
	unsigned long section = layout->pages_per_section;
	const unsigned long lengths[] = { section, 3 * section, 640UL << 10, 2 * section - 512 };
	const unsigned int nodes[] = { 0, 1 % layout->nr_nodes, layout->nr_nodes - 1 };
	unsigned int pattern;

	c->node = nodes[number % 3];
	c->poison = number % NR_POISON;
	number /= NR_POISON;
	c->zone = side->zones[number & 1];
	number /= 2;
	c->checked = side->can_check && number & 1;
	c->callback = number & 1;
	number /= 2;
	if (c->what == BOOT_ONLINE)
		return online_case(number, c);
	c->nr_pages = lengths[number % 4];
	number /= 4;
	if (c->what == BOOT_RESERVED) {
		unsigned long third = c->nr_pages / 3;

		/* One zone; two; two, and those between are empty. No block is in two zones. */
		c->lower_pages = number % 3 ? third - third % side->block_pages : 0;
		c->lower_zone = number % 3 == 1 ? c->zone - 1 : 0;
		number /= 3;
	}
	c->start_pfn = START_PFN + (number & 1 ? 7 * section : 0);
	pattern = number / 2;
	return reserve_pattern(c, pattern);
}

static void random_case(uint64_t seed, unsigned long number, struct boot_case *c)
{
	const struct boot_side *side = boot_side(&kernels[0]);
	uint64_t state = seed * 0x100000001b3 + number;
	unsigned long section = layout->pages_per_section, pfn, sections;

	c->zone = side->zones[below(&state, 2)];
	c->node = below(&state, layout->nr_nodes);
	c->checked = side->can_check && !below(&state, 4);
	c->poison = below(&state, NR_POISON);
	if (c->what == BOOT_ONLINE) {
		sections = 1 + below(&state, 16);
		place_blocks(c, sections, 1 + below(&state, MAX_PAGES / section / sections),
			     below(&state, 8));
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
	if (c->what == BOOT_RESERVED && c->nr_pages >= side->block_pages && below(&state, 4)) {
		c->lower_pages = below(&state, c->nr_pages / side->block_pages) * side->block_pages;
		c->lower_zone = below(&state, c->zone);
	}
	for (pfn = c->start_pfn; below(&state, 8); ) {
		unsigned long from = pfn + below(&state, 1UL << below(&state, 16));
		unsigned long to = from + 1 + below(&state, 1UL << below(&state, 14));

		reserve(c, from, to);
		pfn = to + 1;
	}
}

/* "matrix" or "random", then WHAT, the number of the first case, how many, and the seed */
int check_cases(int nr, char **words)
{
	bool random = *words[-1] == 'r';
	enum boot_what what = read_what(nr, words);
	unsigned long first = read_word(nr, words, 1, 0);
	unsigned long most = read_word(nr, words, 2, random ? 300 : ULONG_MAX);
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

		if (random) {
			random_case(seed, i, &c);
			snprintf(name, sizeof(name), "boot random %s %lu 1 %lu", boot_name(what), i,
				 seed);
		} else {
			if (!matrix_case(i, &c))
				break;
			snprintf(name, sizeof(name), "boot matrix %s %lu 1", boot_name(what), i);
		}
		compare((struct replay_case *)&c, name);
	}
	return compare_summary();
}
