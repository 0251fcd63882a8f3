// SPDX-License-Identifier: GPL-2.0
/* Equality: the cases of the device replay, and how a kernel runs one. */
#include <sched.h>
#include <stdatomic.h>

#include "userspace.h"

#define GUARD		512UL			/* entries on either side */
#define MAX_PAGES	(16UL << 18)
/* The most, at order 0, whose struct pages the series leaves in the caches */
#define MOST_CACHED	(256 * MIB >> layout->page_shift)

bool beside;
static struct {
	const struct replay_side *side;
	unsigned long pfns[3];		/* where each begins, and where the last one ends */
	atomic_int missing;		/* threads that are not there yet */
} halves;

static void bind_half(unsigned long i)
{
	halves.missing--;
	/* None is done before the other one begins. */
	while (halves.missing > 0)
		sched_yield();
	halves.side->bind(halves.pfns[i], halves.pfns[i + 1] - halves.pfns[i]);
}

static void run_two(const struct replay_side *side, const struct replay_case *c, int threads)
{
	halves.side = side;
	halves.pfns[0] = c->start_pfn;
	halves.pfns[1] = c->start_pfn + ((c->nr_pages >> c->order) / 2 << c->order);
	halves.pfns[2] = c->start_pfn + c->nr_pages;
	halves.missing = threads;
	threads_share(threads, 2, bind_half);
}

static void run(const struct replay_side *side, const struct replay_case *c, bool traced)
{
	side->trace(traced);
	side->prepare(c);
	/* An altmap belongs to one device. */
	if (beside && !c->altmap)
		run_two(side, c, side == kernels[0].side ? 1 : 2);
	else
		side->bind(c->start_pfn, c->nr_pages);
	side->trace(0);
}

static struct replay_case random_case(uint64_t seed, unsigned long number)
{
	uint64_t state = seed * 0x100000001b3 + number;
	struct replay_case c = { 0 };
	unsigned long compound, nr_types = 0;

	while (kernels[0].side->types[1 + nr_types])
		nr_types++;
	c.type = 1 + below(&state, nr_types);
	/* The largest orders cost most and have the least variety. */
	do
		c.order = below(&state, layout->max_order + 1);
	while (c.order > 13 && below(&state, 8));
	compound = 1UL << c.order;
	c.start_pfn = (1 + below(&state, 1UL << (34 - c.order))) << c.order;
	if (c.start_pfn < GUARD)
		c.start_pfn = GUARD;
	if (!layout->has_mask() && below(&state, 4))
		c.start_pfn += below(&state, compound);
	/* A few compound pages, or as many as several threads take. */
	if (below(&state, 4))
		c.nr_pages = below(&state, 1 + ((unsigned long)nr_threads << 14 >> c.order));
	c.nr_pages = (c.nr_pages + below(&state, 4)) << c.order;
	if (!c.order && below(&state, 2))
		c.nr_pages += MOST_CACHED;
	if (!below(&state, 8))	/* the last compound goes past the end */
		c.nr_pages += below(&state, compound);
	if (below(&state, 2)) {
		c.altmap = 1;
		c.reserve = below(&state, 2) ? 2 : below(&state, 1024);
		c.offset = ((c.reserve + below(&state, 1024)) | (compound - 1)) + 1 - c.reserve;
		c.nr_pages += c.reserve + c.offset;
	}
	c.early = below(&state, NR_EARLY);
	c.node = below(&state, layout->nr_nodes);
	c.poison = below(&state, NR_POISON);
	return c;
}

/* The words that compare a case again, behind those that ran it, such as "threads 8"; what it is */
static void name_case(const struct replay_case *c, uint64_t seed, unsigned long number,
		      char *name, size_t size)
{
	static const char *const early_names[] = { "none", "all", "odd" };
	static const char *const poison_names[] = { "ones", "zero", "random" };

	snprintf(name, size,
		 "random 1 %lu %lu: type=%s,order=%u,pfn=0x%lx,pages=0x%lx,early=%s,node=%u,"
		 "poison=%s,altmap=%u,reserve=0x%lx,offset=0x%lx",
		 seed, number, kernels[0].side->types[c->type], c->order, c->start_pfn, c->nr_pages,
		 early_names[c->early], c->node, poison_names[c->poison], c->altmap, c->reserve,
		 c->offset);
}

int check_random(int nr, char **words)
{
	unsigned long nr_cases = read_word(nr, words, 0, 20000), seed = read_word(nr, words, 1, 1);
	unsigned long first = read_word(nr, words, 2, 0);
	/* The events of two threads have no order. */
	const struct comparison comparison = { .guard = GUARD, .unordered = beside, .run = run };

	compare_open(MAX_PAGES, &comparison);
	for (unsigned long i = first; i - first < nr_cases; i++) {
		struct replay_case c = random_case(seed, i);
		char name[256];

		name_case(&c, seed, i, name, sizeof(name));
		compare(&c, name);
	}
	return compare_summary();
}
