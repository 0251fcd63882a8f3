// SPDX-License-Identifier: GPL-2.0
/* What the kernel's half tells the host's: the layout of its structs, and what can be called. */
#include "kernel.h"

static void place(void *pfn0)
{
#ifdef CONFIG_X86
	vmemmap_base = (unsigned long)pfn0;
#else
	memstart_addr = (((long)VMEMMAP_START - (long)pfn0) /
			 (long)sizeof(struct page)) << PAGE_SHIFT;
#endif
}

#define FIELD(name) \
	{ "page." #name, 0, offsetof(struct page, name), sizeof_field(struct page, name) }
#define ALSO(names, name) \
	{ "page." #name " (" names ")", 0, offsetof(struct page, name), \
	  sizeof_field(struct page, name) }
#define FOLIO_FIELD(name) \
	{ "folio." #name, offsetof(struct folio, name) / sizeof(struct page), \
	  offsetof(struct folio, name) % sizeof(struct page), \
	  sizeof_field(struct folio, name) }

/* The first match names a byte: what a compound overlays comes first. */
static const struct replay_field fields[] = {
	FOLIO_FIELD(_large_mapcount),
	FOLIO_FIELD(_nr_pages_mapped),
	FOLIO_FIELD(_entire_mapcount),
	FOLIO_FIELD(_pincount),
	FOLIO_FIELD(_mm_id_mapcount),
	FOLIO_FIELD(_mm_ids),
#ifdef NR_PAGES_IN_LARGE_FOLIO
	FOLIO_FIELD(_nr_pages),
#endif
	FOLIO_FIELD(_deferred_list),
	FOLIO_FIELD(pgmap),
	FIELD(flags),
	ALSO("lru.next, pgmap", compound_info),
	ALSO("lru.prev", zone_device_data),
	FIELD(mapping),
	FIELD(share),
	FIELD(private),
	FIELD(_mapcount),
	FIELD(_refcount),
#ifdef CONFIG_MEMCG
	FIELD(memcg_data),
#endif
#ifdef LAST_CPUPID_NOT_IN_PAGE_FLAGS
	FIELD(_last_cpupid),
#endif
#ifdef CONFIG_KMSAN
	FIELD(kmsan_shadow),
	FIELD(kmsan_origin),
#endif
	{ }
};

static const struct replay_layout layout = {
	.fields = fields,
	.pages_per_section = PAGES_PER_SECTION,
	.page_struct_size = sizeof(struct page),
	.page_shift = PAGE_SHIFT,
	.max_order = PUD_SHIFT - PAGE_SHIFT,
	.dedup_pages = VMEMMAP_RESERVE_NR * (PAGE_SIZE / sizeof(struct page)),
	.nr_nodes = MAX_NUMNODES,
	.nr_cpus = NR_CPUS,
	.can_trace = IS_ENABLED(CONFIG_DEBUG_PAGE_REF),
	.can_check = !IS_ENABLED(CONFIG_JUMP_LABEL),
	.has_mask = compound_info_has_mask,
	.marks_tables = IS_ENABLED(CONFIG_ASYNC_KERNEL_PGTABLE_FREE),
	.init_on_alloc = &init_on_alloc,
};

/* The only symbol that stays visible; renamed per tree. */
extern struct memmap_side replay_side;
struct memmap_side replay_side = {
	.side = {
		.layout = &layout,
		.place = place,
	},
	.can_run = can_run,
	.last_type = MEMORY_DEVICE_PCI_P2PDMA,
	.zones = { ZONE_NORMAL, ZONE_MOVABLE },
	.block_pages = MAX_ORDER_NR_PAGES,
	.pageblock_pages = pageblock_nr_pages,
	.lru = offsetof(struct page, lru),
	.removed = { (unsigned long)LIST_POISON1, (unsigned long)LIST_POISON2 },
	.state_size = sizeof(struct state),
	.prepare = prepare,
	.run = run,
#ifdef CONFIG_ZONE_DEVICE
	.fill = fill,
#endif
	.finish = finish,
	.count = count,
	.is_online = is_online,
	.trace = trace,
	.set_cpus = set_cpus,
	.set_works = set_works,
};
