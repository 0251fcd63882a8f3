// SPDX-License-Identifier: GPL-2.0
/* Equality: the cases of the device replay, and how a kernel runs one. */
#include <sched.h>
#include <stdatomic.h>

#include "userspace.h"

#define GUARD		512UL			/* entries on either side */
#define START_PFN	(1UL << 24)		/* aligned to every order */
#define MAX_PAGES	(4UL << 18)
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
	side->prepare(c);
	threads_share(threads, 2, bind_half);
}

static void run(const struct replay_side *side, const struct replay_case *c, bool traced)
{
	side->trace(traced);
	/* An altmap belongs to one device. */
	if (beside && !c->altmap)
		run_two(side, c, side == kernels[0].side ? 1 : 2);
	else
		case_run(side, c);
	side->trace(0);
}

static void check(const struct replay_case *c)
{
	char written[CASE_SIZE];

	case_write(c, written);
	compare(c, written);
}

static void prepare(void)
{
	/* The events of two threads have no order. */
	compare_open(MAX_PAGES + (1UL << layout->max_order),
		     &(struct comparison) { .guard = GUARD, .unordered = beside, .run = run });
}

/* The dimensions that do not multiply the work, in turn. */
static void check_poisons(struct replay_case *c)
{
	const unsigned int nodes[] = { 0, 1 % layout->nr_nodes, layout->nr_nodes - 1 };

	for (c->poison = 0; c->poison < NR_POISON; c->poison++) {
		c->node = nodes[nr_compared / NR_POISON % 3];
		check(c);
	}
}

static void check_lengths(struct replay_case *c)
{
	unsigned long compound = 1UL << c->order;
	unsigned long section = layout->pages_per_section;
	/* Threads take a section or a compound page at least. */
	unsigned long many = compound < section ? nr_threads * section + section / 2 :
						  3 * compound;
	const unsigned long lengths[] = {
		0, compound, 2 * compound, many, MOST_CACHED, MOST_CACHED + 1
	};

	for (size_t i = 0; i < (c->order ? 4 : 6); i++) {
		c->nr_pages = c->reserve + c->offset + lengths[i];
		check_poisons(c);
	}
}

static void check_altmaps(struct replay_case *c)
{
	unsigned long compound = 1UL << c->order;
	unsigned long used = compound < 512 ? 512 : compound;

	c->altmap = 0;
	c->reserve = 0;
	c->offset = 0;
	for (c->early = 0; c->early < NR_EARLY; c->early++)
		check_lengths(c);
	c->early = EARLY_NONE;
	c->altmap = 1;
	c->reserve = used;
	check_lengths(c);
	c->reserve = 2;
	c->offset = used - 2;
	check_lengths(c);
}

int check_matrix(int nr, char **words)
{
	struct replay_case c = { 0 };

	prepare();
	for (c.order = 0; c.order <= layout->max_order; c.order++) {
		unsigned long compound = 1UL << c.order;

		for (c.type = 1; kernels[0].side->types[c.type]; c.type++) {
			c.start_pfn = START_PFN;
			check_altmaps(&c);
			if (compound < layout->pages_per_section) {
				c.start_pfn = START_PFN + 3 * compound;
				check_altmaps(&c);
			}
			/* A mask in compound_info forbids it. */
			if (compound > 1 && !kernels[0].side->has_mask()) {
				c.start_pfn = START_PFN + compound / 2;
				check_altmaps(&c);
			}
		}
	}
	return compare_summary();
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
	if (!kernels[0].side->has_mask())
		c.start_pfn += below(&state, compound);
	c.nr_pages = below(&state, 1 + ((unsigned long)nr_threads << 14 >> c.order));
	c.nr_pages = (c.nr_pages + below(&state, 3)) << c.order;
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

int check_random(int nr, char **words)
{
	unsigned long nr_cases = read_word(nr, words, 0, 20000), seed = read_word(nr, words, 1, 1);

	prepare();
	printf("%lu random cases, seed %lu\n", nr_cases, seed);
	for (unsigned long i = 0; i < nr_cases; i++) {
		struct replay_case c = random_case(seed, i);

		check(&c);
	}
	return compare_summary();
}

int check_one(int nr, char **words)
{
	const char *text = nr ? words[0] : "";
	const struct replay_case c = case_read(text);

	if (c.nr_pages > MAX_PAGES || c.start_pfn < GUARD ||
	    c.reserve + c.offset > c.nr_pages || c.node >= layout->nr_nodes)
		die("a case has pages <= 0x%lx, reserve + offset <= pages, pfn >= 0x%lx, node < %u",
		    MAX_PAGES, GUARD, layout->nr_nodes);
	prepare();
	check(&c);
	return compare_summary();
}
