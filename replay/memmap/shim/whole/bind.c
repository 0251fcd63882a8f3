// SPDX-License-Identifier: GPL-2.0
/* What a bind does besides: the memmap is allocated and mapped, and unmapped and freed. */
#include <linux/memblock.h>
#include <linux/memory_hotplug.h>
#include <linux/memremap.h>

#include "../arch/x86/mm/mm_internal.h"
#include "../kernel.h"

/* What is told then is not compared. */
static bool is_again;

int _printk(const char *format, ...)
{
	if (current_what == WHAT_FILL)
		replay_unexpected("_printk");
	if (!is_again)
		replay_event(EVENT_PRINT, 0, 0);
	return 0;
}

STUB(sparse_index_init, BIND);

#ifdef CONFIG_ZONE_DEVICE
/* A device is mapped up to here; the first time, all of it was. Else, memory is short. */
static unsigned long mapped_end;
static bool all_mapped;
/* So many pages were freed when the TLB was flushed, and when what may unmap some began. */
static unsigned long freed_at_flush, freed_at_start;

/* What is freed between two flushes was held until the first one. */
void flush_tlb_all(void)
{
	unsigned long freed = events()->event[PGFREE];

	counts.flushes++;
	counts.held = max(counts.held, freed - counts.freed);
	counts.freed = freed;
	freed_at_flush = freed;
}

static void start_early(void)
{
	freed_at_start = events()->event[PGFREE];
	freed_at_flush = ULONG_MAX;
}

/* Without a flush, all that was freed since start_early() was freed too early. */
static void count_early(void)
{
	counts.early += min(freed_at_flush, events()->event[PGFREE]) - freed_at_start;
	start_early();
}

#ifdef CONFIG_ASYNC_KERNEL_PGTABLE_FREE
/* A kernel does so a little later, when IOMMUs have forgotten the table. */
void pagetable_free_kernel(struct ptdesc *table)
{
	counts.marked++;
	__pagetable_free(table);
}
#endif

/* What a kernel calls for each section in place of vmemmap_free(); see harness/link/program.py. */
void replay_vmemmap_free(unsigned long start, unsigned long end, struct vmem_altmap *altmap);
void replay_vmemmap_free(unsigned long start, unsigned long end, struct vmem_altmap *altmap)
{
	start_early();
	vmemmap_free(start, end, altmap);
	count_early();
}

/* Memory that is free, and of which struct pages say so. */
static void free_ram(const struct memmap_case *c)
{
	unsigned long pfn, end_pfn = c->ram_pfn + c->ram_pages, far = c->far_pfn ?: end_pfn;
	unsigned long far_pages = c->scattered ? end_pfn - far : 1;
	unsigned int order;

	/* mm_init.o looks up a page of no case, and forgets the nodes of the case before. */
	memblock_add_node(0, PAGE_SIZE, 0, 0);
	early_pfn_to_nid(0);
	memblock_add_node(PFN_PHYS(c->ram_pfn), PFN_PHYS(far - c->ram_pfn), 0, 0);
	if (far < end_pfn) {
		memblock_add_node(PFN_PHYS(far), PFN_PHYS(far_pages), 1, 0);
		memblock_add_node(PFN_PHYS(far + far_pages), PFN_PHYS(end_pfn - far - far_pages), 0,
				  0);
	}
	/* The allocator may look at what is behind the end. */
	for (pfn = c->ram_pfn; pfn < ALIGN(end_pfn, MAX_ORDER_NR_PAGES); pfn++) {
		bool is_far = pfn - far < far_pages;

		__init_single_page(pfn_to_page(pfn), pfn, is_far && c->scattered ? FAR_ZONE :
				   ZONE_NORMAL, is_far ? FAR_NODE : 0);
	}
	for (pfn = c->ram_pfn; pfn < end_pfn; pfn += 1UL << order) {
		bool in_pieces = c->scattered && pfn < far;

		order = in_pieces ? 5 : MAX_PAGE_ORDER;
		while (pfn + (1UL << order) > end_pfn)
			order--;
		if (!in_pieces || !(pfn >> order & 1))
			__free_pages_core(pfn_to_page(pfn), order, MEMINIT_EARLY);
	}
}

/* The sections of the device and beside it are not there, with what kzalloc() would give each. */
static void empty_sections(const struct memmap_case *c)
{
	unsigned long pfn = ALIGN(c->ram_pfn + c->ram_pages, MAX_ORDER_NR_PAGES), i;
	unsigned long first = pfn_to_section_nr(c->start_pfn - c->beside_pages);
	unsigned long end_pfn = c->start_pfn + c->nr_pages + c->beside_pages;
	unsigned long nr = pfn_to_section_nr(end_pfn - 1) + 1 - first;
	unsigned char *usage = __va(PFN_PHYS(pfn));

	/* So the kernel keeps it; an earlier case may have used these struct pages. */
	for (i = 0; i < PFN_UP(nr * USAGE_SIZE); i++) {
		__init_single_page(pfn_to_page(pfn + i), pfn + i, ZONE_NORMAL, 0);
		SetPageReserved(pfn_to_page(pfn + i));
	}
	memset(usage, 0, nr * USAGE_SIZE);
	for (i = 0; i < nr; i++) {
		struct mem_section *section = __nr_to_section(first + i);

		section->section_mem_map = 0;
		section->usage = (struct mem_section_usage *)(usage + i * USAGE_SIZE);
	}
}

/* The base's takes an altmap and a pgmap, the series' parameters that have both. */
#define TAKES_PARAMS							\
	__builtin_types_compatible_p(typeof(sparse_add_section) *,	\
				     int (*)(int, unsigned long, unsigned long,	\
					     const struct mhp_params *))

int any_add_section(int nid, unsigned long pfn, unsigned long nr_pages, const void *first,
		    struct dev_pagemap *pgmap)
{
	int (*add)(int nid, unsigned long pfn, unsigned long nr_pages, const void *first,
		   struct dev_pagemap *pgmap) = (void *)sparse_add_section;

	return add(nid, pfn, nr_pages, first, pgmap);
}

static int add_section(unsigned long pfn, unsigned long nr_pages, struct vmem_altmap *altmap,
		       struct dev_pagemap *pgmap)
{
	const struct mhp_params params = { .altmap = altmap, .pgmap = pgmap };

	return any_add_section(0, pfn, nr_pages, TAKES_PARAMS ? (const void *)&params : altmap,
			       pgmap);
}

void prepare_bind(const struct memmap_case *c)
{
	struct zone *far = &state->pgdat.node_zones[FAR_ZONE];
	unsigned int i;

	node_set_state(0, N_MEMORY);
	node_set_state(0, N_ONLINE);
	state->pgdat.node_start_pfn = 0;
	state->pgdat.node_spanned_pages = 1UL << 40;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *zone = &state->pgdat.node_zones[i];

		set_lists(zone, zone == far ? &far_pcp : &state->pcp);
	}
	for (i = 0; i < MAX_ZONELISTS; i++)
		state->pgdat.node_zonelists[i]._zonerefs[0] = (struct zoneref) {
			.zone = &state->pgdat.node_zones[ZONE_NORMAL],
			.zone_idx = ZONE_NORMAL,
		};
	if (c->scattered) {
		far->initialized = 1;
		far->node = FAR_NODE;
		far->zone_start_pfn = c->far_pfn;
		far->spanned_pages = c->ram_pfn + c->ram_pages - c->far_pfn;
		state->pgdat.node_zonelists[ZONELIST_FALLBACK]._zonerefs[1] = (struct zoneref) {
			.zone = far,
			.zone_idx = FAR_ZONE,
		};
	}
	make_lists(&state->pcp);
	make_lists(&far_pcp);
	/* Who is out of memory gets none by reclaim. */
	task.flags = PF_MEMALLOC;
	/* vmemmap_populate() in init_64.c uses huge pages only with it. */
	set_cpu_cap(&boot_cpu_data, X86_FEATURE_PSE);
	page_offset_base = (unsigned long)replay_memory() - PFN_PHYS(c->ram_pfn);
	init_mm.pgd = state->pgd;
	spin_lock_init(&init_mm.page_table_lock);
	free_ram(c);
	empty_sections(c);
	if (c->beside_pages) {
		unsigned long end_pfn = c->start_pfn + c->nr_pages;

		add_section(c->start_pfn - c->beside_pages, c->beside_pages, NULL, NULL);
		add_section(end_pfn, c->beside_pages, NULL, NULL);
	}
	memset(events(), 0, sizeof(*events()));
	forget_tables();
	make_pgmap(c, 0);
	all_mapped = true;
}

/* As arch_add_memory() and __add_pages() do; mapped_end says up to where. */
static bool map(const struct memmap_case *c)
{
	unsigned long pfn, next, end_pfn = c->start_pfn + c->nr_pages;
	int error = 0;

	if (c->direct)
		kernel_physical_mapping_init(PFN_PHYS(c->start_pfn), PFN_PHYS(end_pfn),
					     1UL << c->direct, PAGE_KERNEL);
	for (pfn = c->start_pfn; pfn < end_pfn; pfn = next) {
		next = min(end_pfn, SECTION_ALIGN_UP(pfn + 1));
		error = add_section(pfn, next - pfn, pgmap_altmap(PGMAP), PGMAP);
		if (error)
			break;
	}
	if (error && !is_again)
		replay_event(EVENT_FAILED, (unsigned long)pfn_to_page(pfn), 0);
	mapped_end = pfn;
	all_mapped &= is_again || !error;
	return !error;
}

static void remove_part(unsigned long pfn, unsigned long end_pfn)
{
	if (pfn >= end_pfn)
		return;
	arch_remove_memory(PFN_PHYS(pfn), PFN_PHYS(end_pfn - pfn), pgmap_altmap(PGMAP), PGMAP);
	count_early();
}

static void unmap(const struct memmap_case *c)
{
	unsigned long middle = SECTION_ALIGN_UP(c->start_pfn + c->nr_pages / 2);

	middle = c->pieces ? min(middle, mapped_end) : c->start_pfn;
	start_early();
	remove_part(c->start_pfn, middle);
	remove_part(middle, mapped_end);
}

/* While somebody holds the second page of a deduplicated memmap, with a reference of his own. */
static void unmap_held(const struct memmap_case *c)
{
	unsigned long addr = (unsigned long)pfn_to_page(c->start_pfn) + PAGE_SIZE;
	unsigned long entry = c->order && !c->altmap ? find_entry(addr) : 0;
	struct page *page = pfn_to_page((entry & PTE_PFN_MASK) >> PAGE_SHIFT);

	if (entry)
		get_page(page);
	unmap(c);
	if (!entry)
		return;
	replay_event(EVENT_REFERENCES, addr, page_count(page));
	__free_pages(page, 0);
}

/* The memmap of memory that is no device's: it may stay offline and unwritten, so it is zeroed. */
static void add_other_memory(const struct memmap_case *c)
{
	unsigned long next = SECTION_ALIGN_UP(c->start_pfn + 1);
	unsigned long nr_pages = min(c->nr_pages, next - c->start_pfn);
	unsigned long addr = (unsigned long)pfn_to_page(c->start_pfn);
	unsigned long end = (unsigned long)pfn_to_page(c->start_pfn + nr_pages);

	if (add_section(c->start_pfn, nr_pages, NULL, NULL))
		return;
	for (; addr < end && c->init_on_alloc; addr += PAGE_SIZE) {
		void *memory = find_memory(c, addr);

		if (memory && sum(memory))
			replay_event(EVENT_STALE, addr, 0);
	}
	arch_remove_memory(PFN_PHYS(c->start_pfn), PFN_PHYS(nr_pages), NULL, NULL);
}

/* Struct pages that whoever asks pfn_valid() finds hold what another user left in that memory. */
static void tell_stale(const struct memmap_case *c)
{
	unsigned long pfn;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += PAGES_PER_SUBSECTION) {
		unsigned long *memory = find_memory(c, (unsigned long)pfn_to_page(pfn));

		if (memory && c->init_on_alloc && *memory == STALE && pfn_valid(pfn))
			replay_event(EVENT_STALE, (unsigned long)pfn_to_page(pfn), 0);
	}
}

bool run_bind(const struct memmap_case *c, enum memmap_part part)
{
	switch (part) {
	case PART_MAP:
		return map(c);
	case PART_FILL:
		fill(c->start_pfn, c->nr_pages);
		break;
	case PART_UNMAP:
		unmap(c);
		break;
	case PART_MOVE:
		move_pfn_range_to_zone(&state->pgdat.node_zones[ZONE_DEVICE], c->start_pfn,
				       c->nr_pages, pgmap_altmap(PGMAP), MIGRATE_MOVABLE, false);
		tell_stale(c);
		break;
	case PART_UNMAP_HELD:
		unmap_held(c);
		break;
	default:
		/* As a kernel does that is short of memory. */
		drain_local_pages(&state->pgdat.node_zones[ZONE_NORMAL]);
		is_again = true;
		map(c);
		unmap(c);
		if (!c->early)
			add_other_memory(c);
		is_again = false;
	}
	return true;
}

/* Where a kernel wrote nothing, or what was there is unknown, contents are not compared. */
void finish_bind(const struct memmap_case *c)
{
	unsigned long pfn = c->start_pfn - c->beside_pages, valid = 0;
	unsigned long end_pfn = c->start_pfn + c->nr_pages + c->beside_pages;

	walk_tables(c, all_mapped && c->init_on_alloc && c->poison == POISON_ONES);
	for (; all_mapped && pfn < end_pfn; pfn += PAGES_PER_SUBSECTION)
		valid += pfn_valid(pfn);
	replay_event(EVENT_COUNTED, (unsigned long)pfn_to_page(c->start_pfn), valid);
}

void forget_memory(void)
{
	all_mapped = false;
}
#endif
