// SPDX-License-Identifier: GPL-2.0
/*
 * Reserved memory of boot, and who has it. CMA's areas are made here as the command line has them
 * made; mm/cma.o activates them. Pages that kexec handover (KHO) preserves are found in ascending
 * order; kexec_handover.o reserves them.
 */
#include <linux/memblock.h>

#include "cma.h"
#include "../kernel.h"

/* The reserved range whose struct pages are left to others. */
#define NOINIT_RANGE	2

/* Where a struct page may be missing: see prepare_reserved(). */
static bool is_whole(const struct memmap_case *c, unsigned long pfn, unsigned long end_pfn)
{
	unsigned long hole = c->start_pfn + 3 * PAGES_PER_SECTION;

	return !c->holes || end_pfn <= hole || pfn >= hole + 2 * PAGES_PER_SECTION;
}

int cma_init_reserved_areas(void);
unsigned long totalcma_pages;
STUB(mutex_init_generic, 1U << WHAT_RESERVED);

/* Activating the areas takes so many bitmaps, then memory is out. */
static unsigned int nr_bitmaps;

/* What cma.o calls in place of bitmap_zalloc() and bitmap_free(); see harness/link/program.py. */
unsigned long *replay_bitmap_zalloc(unsigned int nbits, gfp_t flags);
unsigned long *replay_bitmap_zalloc(unsigned int nbits, gfp_t flags)
{
	/* One bit for each 2 MiB. */
	static unsigned long bits[1 << 14];

	if (nbits > BITS_PER_BYTE * sizeof(bits))
		__builtin_trap();
	/* All write it, and nobody reads it. */
	return nr_bitmaps-- ? bits : NULL;
}

void replay_bitmap_free(const unsigned long *bitmap);
void replay_bitmap_free(const unsigned long *bitmap)
{
}

/*
 * Each reserved range is one of an area, as far as it has whole pageblocks. Every other one is in
 * the area of the one before it. The first pageblocks may be in use.
 */
static void make_areas(const struct memmap_case *c)
{
	unsigned int i;

	nr_bitmaps = c->bitmaps;
	for (i = 0; i < c->nr_reserved; i++) {
		unsigned long pfn = pageblock_align(c->reserved[i][0]);
		unsigned long end_pfn = pageblock_start_pfn(c->reserved[i][1]);
		struct cma_memrange *range;
		struct cma *area;

		end_pfn -= c->late_blocks * pageblock_nr_pages;
		if (i == NOINIT_RANGE || pfn >= end_pfn || !is_whole(c, pfn, end_pfn))
			continue;
		if (!(i & 1) || !cma_area_count)
			cma_area_count++;
		area = &cma_areas[cma_area_count - 1];
		range = &area->ranges[area->nranges++];
		range->base_pfn = pfn;
		range->count = end_pfn - pfn;
		range->early_pfn = min(end_pfn, pfn + c->early_blocks * pageblock_nr_pages);
		area->count += range->count;
		area->available_count = area->count;
		area->order_per_bit = pageblock_order;
		area->nid = c->node;
		if (cma_area_count == 1 && c->keeps)
			cma_reserve_pages_on_error(area);
	}
}

static void activate_areas(void)
{
	unsigned int i;

	cma_init_reserved_areas();
	for (i = 0; i < cma_area_count; i++) {
		const struct page *page = pfn_to_page(cma_areas[i].ranges[0].base_pfn);

		replay_event(EVENT_RESULT, (unsigned long)page, cma_areas[i].flags);
	}
}

/* As kexec_handover.o has it, with a key of its radix tree. */
int kho_preserved_memory_reserve(unsigned long key, void *data);

static void preserve(const struct memmap_case *c)
{
	unsigned int i, order;
	unsigned long pfn;

	for (i = 0; i < c->nr_reserved; i++) {
		unsigned long end_pfn = c->reserved[i][1];

		if (!is_whole(c, c->reserved[i][0], end_pfn))
			continue;
		for (pfn = c->reserved[i][0]; pfn < end_pfn; pfn += 1UL << order) {
			order = min_t(unsigned int, c->preserved_order, __ffs(pfn));
			while (pfn + (1UL << order) > end_pfn)
				order--;
			kho_preserved_memory_reserve(BIT(64 - PAGE_SHIFT - order) | pfn >> order,
						     NULL);
		}
	}
}

/* As boot does for each zone. The kernel decides what it defers. */
static void start_zone(const struct memmap_case *c, unsigned int zid, unsigned long start_pfn,
		       unsigned long nr_pages)
{
	struct zone *zone = &state->pgdat.node_zones[zid];

	zone->spanned_pages = nr_pages;
	zone->present_pages = nr_pages;
	init_currently_empty_zone(zone, start_pfn, nr_pages);
	memmap_init_range(nr_pages, c->node, zid, start_pfn, start_pfn + nr_pages, MEMINIT_EARLY,
			  NULL, MIGRATE_MOVABLE, false);
}

/*
 * One zone or two, of which the last ends where the node does. What lies between
 * reserved ranges is free; what is deferred of it stays as it is. With holes, the fourth
 * section is missing and the fifth is not mapped.
 */
void prepare_reserved(const struct memmap_case *c)
{
	unsigned long hole = c->start_pfn + 3 * PAGES_PER_SECTION;
	unsigned int i;

	prepare_boot(c);
	max_low_pfn = ULONG_MAX;
	node_set_online(c->node);
	state->pgdat.nr_zones = 0;
	/* defer_init() counts the pages of a zone, and starts anew at one that ends elsewhere. */
	memmap_init_range(1, c->node, c->zone, c->start_pfn, c->start_pfn + c->nr_pages + 1,
			  MEMINIT_EARLY, NULL, MIGRATE_MOVABLE, false);
	if (c->lower_pages)
		start_zone(c, c->lower_zone, c->start_pfn, c->lower_pages);
	start_zone(c, c->zone, c->start_pfn + c->lower_pages, c->nr_pages - c->lower_pages);
	if (c->holes) {
		__pfn_to_section(hole)->section_mem_map = 0;
		hole += PAGES_PER_SECTION;
		memblock_mark_nomap(PFN_PHYS(hole), PFN_PHYS(PAGES_PER_SECTION));
	}
	if (c->nr_reserved > NOINIT_RANGE) {
		unsigned long from = c->reserved[NOINIT_RANGE][0];
		unsigned long to = c->reserved[NOINIT_RANGE][1];

		memblock_reserved_mark_noinit(PFN_PHYS(from), PFN_PHYS(to - from));
	}
	for (i = 0; i < MAX_NR_ZONES; i++)
		set_lists(&state->pgdat.node_zones[i],
			  i == c->zone ? &state->pcp : &state->lower_pcp);
	make_lists(&state->pcp);
	make_lists(&state->lower_pcp);
	memset(cma_areas, 0, sizeof(cma_areas));
	cma_area_count = 0;
	if (c->owner == OWNER_CMA)
		make_areas(c);
}

void run_reserved(const struct memmap_case *c)
{
	if (c->owner == OWNER_KHO)
		preserve(c);
	memblock_free_all();
	if (c->owner == OWNER_CMA)
		activate_areas();
}
