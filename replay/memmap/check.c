// SPDX-License-Identifier: GPL-2.0
/*
 * Equality: each kernel runs over the same poisoned memmap, then every byte of it and of guards on
 * both sides is compared with what the base left; so are zone, sections, pageblock bits and
 * counters, and as events the free blocks in their order, page tables entry by entry, references,
 * and every call out of the code. Cases are random.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

#define GUARD		1024UL			/* entries on either side */
#define START_PFN	(1UL << 20)
#define MAX_DEVICE	(16UL << 18)		/* pages */
#define MAX_MEMORY	(640UL << 10)		/* more than two batches */
#define BIND_PAGES	(1UL << 18)
#define BIND_CASES	104			/* numbered ones; all others are random */
/* Pages that wait for a TLB flush: 64 MiB, what comes with the last section, and tables. */
#define MOST_HELD	((64 + 2 + 1) * MIB >> layout->page_shift)
#define MAX_REPORTS	20
#define NOISE		(MIB + 8 * 7)		/* not in step with the entries */

static unsigned char *snapshot, *state_snapshot;
static unsigned long state_bytes, nr_compared, nr_reports, nr_entries, nr_bytes;
static unsigned long nr_differing[MAX_KERNELS];	/* cases */
/* As the command line says */
static unsigned long nr_threads;
static bool beside;

static struct {
	const struct memmap_side *side;
	unsigned long pfns[3];		/* where each begins, and where the last one ends */
	atomic_int missing;		/* threads that are not there yet */
} halves;

static void fill_half(unsigned long i)
{
	halves.missing--;
	/* None is done before the other one begins. */
	while (halves.missing > 0)
		sched_yield();
	halves.side->fill(halves.pfns[i], halves.pfns[i + 1] - halves.pfns[i]);
}

/* A device as two, by two threads at once, or by one */
static void fill_two(unsigned int kernel, const struct memmap_case *c)
{
	int threads = kernel ? 2 : 1;

	halves.side = side_of(kernel);
	halves.pfns[0] = c->start_pfn;
	halves.pfns[1] = c->start_pfn + ((c->nr_pages >> c->order) / 2 << c->order);
	halves.pfns[2] = c->start_pfn + c->nr_pages;
	halves.missing = threads;
	threads_share(threads, 2, fill_half);
}

static void report(unsigned int kernel, const char *text)
{
	/* Of a kernel that may differ, only the first case that does is told. */
	if (kernels[kernel].may_differ && nr_differing[kernel])
		return;
	printf("%s %s\n  %s: %s\n", kernels[kernel].may_differ ? "differs" : "DIFFERS",
	       crash_context, kernels[kernel].name, text);
}

static bool report_number(unsigned int kernel, const char *fault, unsigned long nr)
{
	char text[64];

	snprintf(text, sizeof(text), "%s: %lu", fault, nr);
	report(kernel, text);
	return true;
}

static bool run_bind(unsigned int kernel, const struct memmap_case *c)
{
	/* What printk_once() has printed; harness/link gives the section this name. */
	extern __attribute__((weak)) char __start_dataonce[], __stop_dataonce[];
	const struct memmap_side *side = side_of(kernel);
	/* The base's, in the same case */
	static struct memmap_counts base;
	static unsigned long base_flushes, base_lost;
	struct memmap_counts before, mapped, after;
	unsigned long flushes, lost;
	bool bad = false, mapped_all;

	memset(__start_dataonce, 0, __stop_dataonce - __start_dataonce);
	side->count(&before);
	mapped_all = side->run(c, PART_MAP);
	if (mapped_all) {
		side->run(c, PART_MOVE);
		side->run(c, PART_FILL);
	}
	side->finish(c);
	side->count(&mapped);
	side->run(c, PART_UNMAP_HELD);
	side->count(&after);
	flushes = after.flushes - mapped.flushes;
	side->run(c, PART_AGAIN);
	side->finish(c);
	side->count(&after);
	/* Tables above those of 1 GiB stay. */
	lost = before.free_pages - after.free_pages;
	if (!kernel) {
		base = after;
		base_flushes = flushes;
		base_lost = lost;
		return true;
	}
	if (lost != base_lost)
		bad |= report_number(kernel, "pages not returned", lost - base_lost);
	if (base_flushes && !flushes)
		bad |= report_number(kernel, "pages unmapped without a flush", c->nr_pages);
	/* What unmaps like the base, such as v11 with increments, frees as early. */
	if (after.early && (after.early != base.early || after.flushes != base.flushes))
		bad |= report_number(kernel, "pages freed before they were unmapped", after.early);
	/* Each whole section of a deduplicated memmap has a page table. */
	if (layout->marks_tables && mapped_all && 1UL << c->order > layout->dedup_pages &&
	    !c->altmap && !c->early && !after.early &&
	    after.marked + 1 < c->nr_pages / layout->pages_per_section)
		bad |= report_number(kernel, "page tables not kept from IOMMUs", c->nr_pages);
	if (after.held > MOST_HELD)
		bad |= report_number(kernel, "pages held for one flush", after.held);
	return !bad;
}

/*
 * Nobody reads the list head of a page that is on no list, or not online. In the base it points to
 * itself or is what list_del() leaves, and in the series it can be zero. All else, such as a copy
 * of another page's pointer, is a difference.
 */
static void clear_empty_lists(unsigned int kernel, const struct memmap_case *c)
{
	unsigned long end = c->start_pfn + c->nr_pages + GUARD;
	bool (*is_online)(unsigned long pfn) = side_of(kernel)->is_online;

	for (unsigned long pfn = c->start_pfn - GUARD; pfn < end; pfn++) {
		unsigned long *lru = (unsigned long *)(entry(pfn) + side_of(0)->lru);
		bool offline = c->what >= WHAT_OFFLINE && pfn >= c->start_pfn &&
			       pfn < c->start_pfn + c->nr_pages && !is_online(pfn);

		for (int i = 0; i < 2; i++)
			if (lru[i] == (unsigned long)lru || lru[i] == side_of(0)->removed[i] ||
			    offline)
				lru[i] = 0;
	}
}

static bool run_case(unsigned int kernel, const struct memmap_case *c)
{
	const struct memmap_side *side = side_of(kernel);
	/* Traced or not: both must hold, so one of the poisons goes without. */
	bool same = true, traced = layout->can_trace && c->poison != POISON_ONES;
	unsigned int not_waited;

	set_init_on_alloc(c->init_on_alloc);
	if (c->ram_pages)
		memset(replay_memory(), (unsigned char)STALE, c->ram_pages << layout->page_shift);
	state_bytes = prepare_case(kernel, c, kernel ? nr_threads : 1,
				   kernel && nr_threads > 1);
	side->trace(traced);
	if (c->what == WHAT_BIND) {
		same = run_bind(kernel, c);
	} else {
		/* An altmap belongs to one device. */
		if (c->what == WHAT_FILL && beside && !c->altmap)
			fill_two(kernel, c);
		else
			side->run(c, PART_FILL);
		/* By then they may use what padata has freed, but seldom do. */
		not_waited = threads_not_waited();
		if (not_waited)
			same = !report_number(kernel, "works not waited for", not_waited);
		side->finish(c);
	}
	side->trace(0);
	if (c->what > WHAT_BIND)
		clear_empty_lists(kernel, c);
	return same;
}

/* Returns how many bytes differ, and the first of them. */
static unsigned long differing_bytes(const unsigned char *a, const unsigned char *b,
				     unsigned long bytes, unsigned long *first)
{
	unsigned long differing = 0;

	if (!memcmp(a, b, bytes))
		return 0;
	for (unsigned long i = 0; i < bytes; i++)
		if (a[i] != b[i] && !differing++)
			*first = i;
	return differing;
}

/* The name of a byte: @offset of the @page-th entry of its compound. */
static const char *name_byte(unsigned long page, unsigned int offset)
{
	for (const struct replay_field *f = layout->fields; f->name; f++)
		if (offset >= f->offset && offset < f->offset + f->size &&
		    (f->page == page || !strncmp(f->name, "page.", 5)))
			return f->name;
	return "padding";
}

static bool memmap_same(const struct memmap_case *c, const unsigned char *start,
			unsigned long bytes, char *text, size_t size)
{
	unsigned long first = 0, nr = differing_bytes(start, snapshot, bytes, &first);
	unsigned long pfn = pfn_of(start + first), offset = first % layout->page_struct_size;
	unsigned long page = (pfn - c->start_pfn - c->reserve - c->offset) % (1UL << c->order);
	char of[64] = "";

	if (c->order)
		snprintf(of, sizeof(of), ", page %lu of its compound", page);
	snprintf(text, size, "pfn 0x%lx%s%s, offset %lu, %s: 0x%02x, base 0x%02x; %lu bytes differ",
		 pfn, of, pfn < c->start_pfn || pfn >= c->start_pfn + c->nr_pages ?
		 ", outside of the range" : "",
		 offset, name_byte(c->order ? page : -1UL, offset), start[first], snapshot[first],
		 nr);
	return !nr;
}

static bool state_same(char *text, size_t size)
{
	unsigned long first = 0, nr = differing_bytes(state, state_snapshot, state_bytes, &first);

	snprintf(text, size, "zone, bitmaps or counters: offset %lu; %lu bytes differ", first, nr);
	return !nr;
}

/* Compares with the base; @same: nothing else was found. */
static void judge(const struct memmap_case *c, unsigned int kernel, const unsigned char *start,
		  unsigned long bytes, bool same)
{
	char text[256];

	if (!events_same(text, sizeof(text))) {
		report(kernel, text);
		same = false;
	}
	if (!memmap_same(c, start, bytes, text, sizeof(text))) {
		report(kernel, text);
		same = false;
	}
	if (!state_same(text, sizeof(text))) {
		report(kernel, text);
		same = false;
	}
	nr_differing[kernel] += !same;
	if (!same && !kernels[kernel].may_differ && ++nr_reports == MAX_REPORTS) {
		printf("stopped at the %dth difference\n", MAX_REPORTS);
		exit(1);
	}
}

static void poison(unsigned char *start, unsigned long bytes, enum memmap_poison how)
{
	static unsigned char noise[NOISE];

	if (how != POISON_RANDOM) {
		memset(start, how == POISON_ONES ? 0xff : 0, bytes);
		return;
	}
	if (!noise[0])
		fill_random(noise, NOISE, 0);
	for (unsigned long done = 0; done < bytes; done += NOISE)
		memcpy(start + done, noise, bytes - done < NOISE ? bytes - done : NOISE);
}

static void compare(const struct memmap_case *c, const char *name)
{
	unsigned long entries = GUARD + c->nr_pages + GUARD + (1UL << c->order);
	unsigned long bytes = entries * layout->page_struct_size;
	unsigned char *start = window_place(c->start_pfn - GUARD);

	crash_context = name;
	for (unsigned int i = 0; i < nr_kernels; i++) {
		bool same;

		crash_kernel = kernels[i].name;
		poison(start, bytes, c->poison);
		/* The events of two threads have no order. */
		events_start(beside ? EVENTS_IGNORE : i ? EVENTS_COMPARE : EVENTS_RECORD);
		same = run_case(i, c);
		if (i) {
			judge(c, i, start, bytes, same);
			continue;
		}
		memcpy(snapshot, start, bytes);
		memcpy(state_snapshot, state, state_bytes);
	}
	crash_kernel = NO_KERNEL;
	nr_compared++;
	nr_entries += c->nr_pages - c->reserve - c->offset;
	nr_bytes += bytes;
}

static int print_summary(const char *what)
{
	unsigned int nr_named = 0, failed = 0;

	printf("%s: %lu case%s, %lu entries in range, %.1f GiB compared per kernel: ", what,
	       nr_compared, nr_compared == 1 ? "" : "s", nr_entries, (double)nr_bytes / GIB);
	for (unsigned int i = 1; i < nr_kernels; i++)
		if (!nr_differing[i])
			printf("%s%s", nr_named++ ? " and " : "", kernels[i].name);
	if (nr_named)
		printf(" as base, byte for byte");
	for (unsigned int i = 1; i < nr_kernels; i++) {
		if (!nr_differing[i])
			continue;
		failed |= !kernels[i].may_differ;
		printf("%s%s %s from base in %lu case%s", nr_named++ ? "; " : "", kernels[i].name,
		       kernels[i].may_differ ? "differs" : "DIFFERS", nr_differing[i],
		       nr_differing[i] == 1 ? "" : "s");
	}
	printf("\n");
	nr_compared = nr_entries = nr_bytes = 0;
	memset(nr_differing, 0, sizeof(nr_differing));
	return failed;
}

/* More than a section, as the series fills order 0 section by section */
#define SECTIONS	(256 * MIB >> layout->page_shift)

static void random_fill(uint64_t *random, unsigned long number, struct memmap_case *c)
{
	unsigned long compound;

	c->type = 1 + below(random, side_of(0)->last_type);
	/* The largest orders cost most and have the least variety. */
	do
		c->order = below(random, layout->max_order + 1);
	while (c->order > 13 && below(random, 8));
	compound = 1UL << c->order;
	c->start_pfn = (1 + below(random, 1UL << (34 - c->order))) << c->order;
	if (c->start_pfn < GUARD)
		c->start_pfn = GUARD;
	if (!layout->has_mask() && below(random, 4))
		c->start_pfn += below(random, compound);
	/* A few compound pages, or as many as several threads take. */
	if (below(random, 4))
		c->nr_pages = below(random, 1 + (nr_threads << 14 >> c->order));
	c->nr_pages = (c->nr_pages + below(random, 4)) << c->order;
	if (!c->order && below(random, 2))
		c->nr_pages += SECTIONS;
	if (!below(random, 8))	/* the last compound goes past the end */
		c->nr_pages += below(random, compound);
	if (below(random, 2)) {
		c->altmap = 1;
		c->reserve = below(random, 2) ? 2 : below(random, 1024);
		c->offset = ((c->reserve + below(random, 1024)) | (compound - 1)) + 1 - c->reserve;
		c->nr_pages += c->reserve + c->offset;
	}
	c->early = below(random, NR_EARLY);
}

/*
 * Sizes, orders, with and without an altmap and init_on_alloc; then for each order memory in
 * plenty, less and less of it, and at last a page of another node, which makes the kernel warn.
 * Then more than is held for one flush; memory in pieces, which hold no section's pages, while
 * another node has blocks that do; and just what is held for one flush, while the table of 1 GiB of
 * the memmap stays.
 */
static void number_bind(unsigned long number, struct memmap_case *c)
{
	/* Pages that the base allocates for BIND_PAGES */
	static const unsigned long needed[] = { 4098, 1034, 12 };
	unsigned long i = number / 3, step = (number - 24) % 25, enough;

	if (number < 24) {
		*c = make_case(WHAT_BIND, i & 4 ? 2 * BIND_PAGES : BIND_PAGES, number % 3 * 9,
			       !(i & 2));
		/* What another driver left: fsdev relies on none of it to survive. */
		c->poison = i % NR_POISON;
		c->init_on_alloc = i & 1;
		return;
	}
	if (number == BIND_CASES - 1) {
		*c = make_case(WHAT_BIND, 4 * BIND_PAGES, 0, true);
		c->beside_pages = layout->pages_per_section;
		return;
	}
	if (number >= BIND_CASES - 5) {
		i = number - (BIND_CASES - 5);
		*c = make_case(WHAT_BIND, i ? BIND_PAGES : 8 * BIND_PAGES, i ? (i - 1) * 9 : 0,
			       true);
		c->scattered = i;
		if (i) {
			c->far_pfn = c->ram_pfn + 2 * c->ram_pages;
			c->ram_pages *= 3;
		}
		return;
	}
	i = (number - 24) / 25 % 3;
	enough = needed[i];
	*c = make_case(WHAT_BIND, BIND_PAGES, i * 9, true);
	if (step)
		c->ram_pages = step <= 12 ? 1 + (enough - 1) * (step - 1) / 12 : enough;
	if (step > 12)
		c->far_pfn = c->ram_pfn + enough * (step - 13) / 12;
}

/*
 * Of any order, from any subsection on: sections in part at both ends, other memory beside it, with
 * an altmap or without, and a direct map of small or large pages. Or whole sections, and memory is
 * scarce: a block for some of them, and few pages or none for their tables.
 */
static void random_bind(uint64_t *random, unsigned long number, struct memmap_case *c)
{
	bool scarce = !below(random, 4);
	unsigned int order = scarce ? 9 : below(random, 2) ? below(random, 3) * 9 :
						below(random, layout->max_order + 1);
	unsigned int poison = below(random, 8) ? POISON_ONES : below(random, NR_POISON);
	unsigned long section = layout->pages_per_section, start, end, room;
	/* Where the memmap is deduplicated, a compound page lies in a section or has whole ones. */
	unsigned long unit = scarce ? section : order > 9 ? 1UL << order : 512;

	start = below(random, BIND_PAGES / unit) * unit;
	room = (below(random, 2) ? BIND_PAGES : 2 * section) / unit ?: 1;
	*c = make_case(WHAT_BIND, (1 + below(random, room)) * unit, order, true);
	c->start_pfn += start;
	c->poison = poison;
	c->init_on_alloc = !!below(random, 8);
	c->pieces = below(random, 2);
	if (scarce) {
		c->ram_pages = 128 * (1 + below(random, 4)) + below(random, 8);
		return;
	}
	end = c->start_pfn + c->nr_pages;
	c->beside_pages = 512 * below(random, 4);
	if (start % section && c->beside_pages > start % section)
		c->beside_pages = start % section;
	if (c->beside_pages > section - end % section)
		c->beside_pages = section - end % section;
	c->direct = below(random, 3);
	c->reserve = 2;
	c->offset = (c->nr_pages / 64 + below(random, 1024)) | ((1UL << order) - 1);
	c->offset += 1 - c->reserve;
	c->altmap = c->reserve + c->offset < c->nr_pages && below(random, 2);
	if (!c->altmap)
		c->reserve = c->offset = 0;
}

static void reserve(struct memmap_case *c, unsigned long from, unsigned long to)
{
	unsigned long end = c->start_pfn + c->nr_pages;

	if (from < c->start_pfn || from >= end || from >= to || c->nr_reserved == MAX_RESERVED)
		return;
	c->reserved[c->nr_reserved][0] = from;
	c->reserved[c->nr_reserved++][1] = to < end ? to : end;
}

/* Near @pfn: often a middle or an end of a block, or what is beside it. */
static unsigned long random_edge(uint64_t *random, unsigned long pfn)
{
	unsigned long half = side_of(0)->block_pages / 2;

	return below(random, 2) ? pfn : pfn + half - pfn % half + below(random, 3) - 1;
}

static void random_boot(uint64_t *random, unsigned long number, struct memmap_case *c)
{
	bool reserved = c->what == WHAT_RESERVED;
	unsigned long section = layout->pages_per_section, pfn;

	c->zone = side_of(0)->zones[below(random, 2)];
	c->checked = layout->can_check && !below(random, 4);
	c->unaccepted = !below(random, 4);
	if (c->what == WHAT_DEFERRED)
		c->grown = below(random, 2) * below(random, 4);
	c->start_pfn = START_PFN + below(random, 64) * section;
	c->nr_pages = below(random, reserved ? 2 : 8) ? (1 + below(random, 4)) * section :
							MAX_MEMORY;
	/* The zone ends anywhere; it starts where a section does, as what is deferred. */
	if (!below(random, 3))
		c->nr_pages -= below(random, section);
	if (reserved && below(random, 4)) {
		c->lower_pages = below(random, (c->nr_pages - 1) / side_of(0)->block_pages + 1) *
				 side_of(0)->block_pages;
		c->lower_zone = below(random, c->zone);
	}
	for (pfn = c->start_pfn; below(random, 8); ) {
		/* Whole sections are reserved, too. */
		unsigned int bits = reserved && below(random, 2) ? 18 : below(random, 14);
		unsigned long from, to;

		from = random_edge(random, pfn + below(random, 1UL << below(random, 16)));
		to = random_edge(random, from + 1 + below(random, 1UL << bits));
		reserve(c, from, to);
		pfn = to + 1;
	}
	if (!reserved)
		return;
	c->owner = number % NR_OWNERS;
	c->holes = c->nr_pages > 5 * section && below(random, 2);
	c->early_blocks = below(random, 2) * below(random, 128);
	c->late_blocks = below(random, 2) * below(random, 128);
	c->bitmaps = below(random, 2) ? MAX_RESERVED : below(random, 4);
	c->keeps = below(random, 2);
	c->preserved_order = below(random, layout->max_order + 1);
}

static void random_online(uint64_t *random, unsigned long number, struct memmap_case *c)
{
	c->zone = side_of(0)->zones[below(random, 2)];
	c->checked = layout->can_check && !below(random, 4);
	c->block_pages = (1 + below(random, 16)) * layout->pages_per_section;
	c->nr_pages = (1 + below(random, MAX_MEMORY / c->block_pages)) * c->block_pages;
	c->start_pfn = START_PFN + below(random, 8) * c->block_pages;
	if (below(random, 2))
		c->memmap_pages = below(random, c->block_pages / side_of(0)->pageblock_pages) *
				  side_of(0)->pageblock_pages;
	c->callback = !below(random, 4);
}

/* Most uses are rare, and some errors are only seen where a block goes offline again. */
static enum memmap_use random_use(uint64_t *random, const struct memmap_case *c)
{
	enum memmap_use use = below(random, 3) ? below(random, 2) : below(random, USE_CACHED);
	bool hugetlb = use == USE_HUGETLB || use == USE_FREE_HUGETLB;

	/* In another zone, the kernel asks hugetlb. */
	return hugetlb && c->zone != side_of(0)->zones[1] ? USE_MOVABLE : use;
}

/* Blocks in ascending, descending or random order, some of them again and again. */
static void random_steps(uint64_t *random, struct memmap_case *c, unsigned int blocks)
{
	static const unsigned int stale[] = { 11, 12, 31, 32, 63, 64, 127, 255, 4095, ~0U };
	bool online[64] = { false };
	unsigned int most = 1 + below(random, MAX_STEPS);
	enum memmap_use use = USE_NOTHING;

	while (c->nr_steps < most) {
		unsigned int first = below(random, blocks), n = 1 + below(random, blocks);
		unsigned int how = below(random, 3), offline = below(random, 2);

		if (below(random, 2))
			use = random_use(random, c);
		for (unsigned int i = 0; i < n && c->nr_steps < most; i++) {
			unsigned int block = how == 2 ? below(random, blocks) :
				(first + (how ? blocks - i : i)) % blocks;
			struct memmap_step *step = &c->steps[c->nr_steps];

			if (online[block] != offline)
				continue;
			step->block = block;
			step->offline = offline;
			step->refused = !below(random, 16);
			step->use = use;
			step->group = below(random, 11);
			if (use == USE_STUCK && step->group % 2)
				step->group = __builtin_ctzl(side_of(0)->pageblock_pages);
			step->second = use != USE_STALE && below(random, 2);
			step->stale = below(random, 3) ? stale[below(random, 10)] :
							 below(random, 11);
			if (offline && step->group % 4 == 0)
				step->late = step->stale % 2 ? USE_CACHED : USE_MOVABLE;
			online[block] = step->refused ? offline : !offline;
			c->nr_steps++;
		}
	}
}

static void random_offline(uint64_t *random, unsigned long number, struct memmap_case *c)
{
	unsigned long section = layout->pages_per_section, blocks = 1 + below(random, 8);

	random_online(random, number, c);
	c->block_pages = (1 + below(random, 2)) * section;
	if (below(random, 2)) {
		c->early_pages = (1 + below(random, 2)) * section;
		c->hole_pages = below(random, 2) * below(random, section / 2);
		c->gap_pages = below(random, 3) / 2 * section;
	}
	c->nr_pages = c->early_pages + c->gap_pages + blocks * c->block_pages;
	c->start_pfn = START_PFN + below(random, 8) * section;
	c->memmap_pages %= c->block_pages;
	random_steps(random, c, blocks);
}

/*
 * Memory comes, all of it comes online, most of it goes offline, and it goes, up to three times. A
 * case ends behind any of the steps, at which a block may refuse.
 */
static void random_plug(uint64_t *random, unsigned long number, struct memmap_case *c)
{
	unsigned long section = layout->pages_per_section, blocks = 1 + below(random, 4);

	*c = make_case(c->what, blocks * section, 0, true);
	c->block_pages = section;
	c->start_pfn += below(random, 8) * section;
	c->poison = below(random, NR_POISON);
	c->callback = !below(random, 4);
	/* To unplug, it is added beforehand, and goes as a whole. */
	c->nr_steps = c->what == WHAT_PLUG ? 1 + below(random, 12) : 0;
	for (unsigned int i = 0; i < c->nr_steps; i++) {
		c->steps[i].block = below(random, blocks);
		c->steps[i].offline = !below(random, 4);
		c->steps[i].refused = !below(random, 2);
		c->steps[i].poisoned = !below(random, 4);
	}
}

static void (*const draw[NR_WHATS])(uint64_t *random, unsigned long number,
				    struct memmap_case *c) = {
	[WHAT_FILL] = random_fill,
	[WHAT_BIND] = random_bind,
	[WHAT_DEFERRED] = random_boot,
	[WHAT_RESERVED] = random_boot,
	[WHAT_ONLINE] = random_online,
	[WHAT_OFFLINE] = random_offline,
	[WHAT_PLUG] = random_plug,
	[WHAT_UNPLUG] = random_plug,
};

static int check_what(enum memmap_what what, unsigned long cases, uint64_t seed,
		      unsigned long first)
{
	for (unsigned long number = first; number - first < cases; number++) {
		uint64_t random = seed * 0x100000001b3 + number;
		struct memmap_case c = make_case(what, 0, 0, true);
		char name[320];

		c.poison = below(&random, NR_POISON);
		if (what == WHAT_BIND && number < BIND_CASES)
			number_bind(number, &c);
		else
			draw[what](&random, number, &c);
		if (what != WHAT_BIND && what < WHAT_PLUG)
			c.node = below(&random, layout->nr_nodes);
		/* The words that compare it again, and what it is */
		snprintf(name, sizeof(name), "check %s 1 %lu %lu: order=%u,pfn=0x%lx,pages=0x%lx,"
			 "node=%u,zone=%u,type=%u,early=%u,poison=%u,altmap=%u:0x%lx+0x%lx,"
			 "block=0x%lx:0x%lx,ram=0x%lx,far=0x%lx,beside=0x%lx,direct=%u,owner=%u",
			 what_names[what], seed, number, c.order, c.start_pfn, c.nr_pages, c.node,
			 c.zone, c.type, c.early, c.poison, c.altmap, c.reserve, c.offset,
			 c.block_pages, c.memmap_pages, c.ram_pages, c.far_pfn, c.beside_pages,
			 c.direct, c.owner);
		compare(&c, name);
	}
	return print_summary(what_names[what]);
}

static unsigned long read_setting(const char *name, unsigned long missing)
{
	const char *value = find_setting(name);

	return value ? read_number(value) : missing;
}

int check_all(int nr, char **words)
{
	/* In a few seconds */
	static const unsigned long few[] = { 2000, BIND_CASES + 200, 100, 300, 30, 60, 60, 10 };
	unsigned long pages = MAX_DEVICE + 2 * GUARD;
	int failed = 0;

	nr_threads = read_setting("threads", 1);
	beside = read_setting("beside", 0);
	if (nr_threads > 64 || !nr_threads)
		die("threads=1 to 64");
	threads_start(read_setting("helpers", nr_threads - 1) + beside);
	if (find_setting("works"))
		for (unsigned int i = 1; i < nr_kernels; i++)
			side_of(i)->set_works(read_setting("works", 1));
	window_open(pages * layout->page_struct_size);
	snapshot = map_at(0, window_size + side_of(0)->state_size);
	state_snapshot = snapshot + window_size;
	if (nr)
		return check_what(find_what(words[0]), read_word(nr, words, 1, 1000),
				  read_word(nr, words, 2, 1), read_word(nr, words, 3, 0));
	for (unsigned int what = 0; what < NR_WHATS; what++)
		if (side_of(0)->can_run(what))
			failed |= check_what(what, few[what], 1, 0);
	return failed;
}
