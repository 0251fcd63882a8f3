// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of the boot replay: what is needed around mm/mm_init.o,
 * mm/page_alloc.o, mm/memblock.o, mm/vmstat.o, mm/memory_hotplug.o,
 * mm/page_isolation.o and kernel/padata.o, which are the kernel's own.
 *
 * Compiled once per tree and configuration, with that kernel's own headers and
 * command line. ../node.h says what the node is. Notifiers, kswapd and the like do
 * nothing.
 */
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/nmi.h>
#include <linux/padata.h>
#include <linux/page-isolation.h>
#include <linux/page_ref.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "internal.h"
#include "mm_init.h"
#include "page_alloc.h"
#include "boot.h"
#include "../shim.h"
#include "../padata.h"
#include "../node.h"

bool early_page_ext;
unsigned long highest_memmap_pfn;
atomic_t __num_online_cpus = ATOMIC_INIT(1);
int sysctl_min_unmapped_ratio = 1, sysctl_min_slab_ratio = 5;

unsigned long __highest_present_section_nr = NR_SECTIONS - 1;

/*
 * All that the code changes besides the memmap: at the same address for every
 * kernel, so that it can be compared byte for byte, pointers included.
 */
static struct state {
	struct replay_node node;
	atomic_long_t vm_zone_stat[NR_VM_ZONE_STAT_ITEMS];
	struct vm_event_state events;
	unsigned long totalram, highest_pfn;
} *state;

DO_NOTHING(_printk);
DO_NOTHING(kcompactd_run);
DO_NOTHING(kswapd_run);
DO_NOTHING(memory_notify);
DO_NOTHING(mutex_lock);
DO_NOTHING(mutex_unlock);
DO_NOTHING(next_online_pgdat);
DO_NOTHING(node_notify);
DO_NOTHING(set_cpus_allowed_ptr);
DO_NOTHING(touch_softlockup_watchdog);
DO_NOTHING(writeback_set_ratelimit);

/* One node. */
struct pglist_data *first_online_pgdat(void)
{
	return &node->pgdat;
}

struct zone *next_zone(struct zone *zone)
{
	return ++zone < node->pgdat.node_zones + MAX_NR_ZONES ? zone : NULL;
}

/* Of mm/sparse.c, like the sections. */
void online_mem_sections(unsigned long start_pfn, unsigned long end_pfn)
{
	for (; start_pfn < end_pfn; start_pfn += PAGES_PER_SECTION)
		__pfn_to_section(start_pfn)->section_mem_map |= SECTION_IS_ONLINE;
}

#ifdef CONFIG_DEBUG_PAGE_REF
/* Off, and read at run time in this configuration. */
struct tracepoint __tracepoint_mm_page_free;
struct tracepoint __tracepoint_mm_calculate_totalreserve_pages;
struct tracepoint __tracepoint_mm_setup_per_zone_lowmem_reserve;
struct tracepoint __tracepoint_mm_setup_per_zone_wmarks;
struct tracepoint __tracepoint_page_ref_freeze;
#endif

#ifndef CONFIG_JUMP_LABEL
/* Off, and read at run time in this configuration. */
struct static_key_false memcg_kmem_online_key;
#endif

static struct zone *zone_of(const struct boot_case *c)
{
	return &node->pgdat.node_zones[c->zone];
}

static void reserve(const struct boot_case *c, unsigned long pfn, unsigned long end_pfn)
{
	for (; pfn < end_pfn; pfn++) {
		__init_single_page(pfn_to_page(pfn), pfn, c->zone, c->node);
		__SetPageReserved(pfn_to_page(pfn));
	}
}

/* As boot does for each zone. The kernel decides what it defers. */
static void start_zone(const struct boot_case *c, unsigned int zid, unsigned long start_pfn,
		       unsigned long nr_pages)
{
	struct zone *zone = &node->pgdat.node_zones[zid];

	zone->spanned_pages = nr_pages;
	zone->present_pages = nr_pages;
	init_currently_empty_zone(zone, start_pfn, nr_pages);
	memmap_init_range(nr_pages, c->node, zid, start_pfn, start_pfn + nr_pages, MEMINIT_EARLY,
			  NULL, MIGRATE_MOVABLE, false);
}

/*
 * One zone or two, of which the last ends where the node does. What lies between
 * reserved ranges is free; what is deferred of it stays as it is. In larger cases, the
 * fourth section is missing and the fifth is not mapped. The struct pages of the third
 * reserved range are left to others.
 */
static void prepare_reserved(const struct boot_case *c)
{
	unsigned long hole = c->start_pfn + 3 * PAGES_PER_SECTION;

	max_low_pfn = ULONG_MAX;
	node_set_online(c->node);
	node->pgdat.nr_zones = 0;
	node->pgdat.node_spanned_pages = c->nr_pages;
	node->pgdat.first_deferred_pfn = ULONG_MAX;
	/* defer_init() counts the pages of a zone, and starts anew at one that ends elsewhere. */
	memmap_init_range(1, c->node, c->zone, c->start_pfn, c->start_pfn + c->nr_pages + 1,
			  MEMINIT_EARLY, NULL, MIGRATE_MOVABLE, false);
	if (c->lower_pages)
		start_zone(c, c->lower_zone, c->start_pfn, c->lower_pages);
	start_zone(c, c->zone, c->start_pfn + c->lower_pages, c->nr_pages - c->lower_pages);
	if (c->nr_pages > 5 * PAGES_PER_SECTION) {
		__pfn_to_section(hole)->section_mem_map = 0;
		hole += PAGES_PER_SECTION;
		memblock_mark_nomap(PFN_PHYS(hole), PFN_PHYS(PAGES_PER_SECTION));
	}
	if (c->nr_reserved > 2) {
		unsigned long from = c->reserved[2][0], to = c->reserved[2][1];

		memblock_reserved_mark_noinit(PFN_PHYS(from), PFN_PHYS(to - from));
	}
}

/* Memory of the lowest zone is there, and marks the node and the zone as populated. */
static void prepare_online(const struct boot_case *c, struct zone *zone)
{
	struct zone *lowest = node->pgdat.node_zones;
	unsigned int i;

	for (i = 0; i < NR_SECTIONS; i++)
		node->sections[i].section_mem_map = SECTION_MARKED_PRESENT | SECTION_HAS_MEM_MAP;
	lowest->spanned_pages = PAGES_PER_SECTION;
	lowest->present_pages = PAGES_PER_SECTION;
	atomic_long_set(&lowest->managed_pages, PAGES_PER_SECTION);
	zone->spanned_pages = 0;
	zone->initialized = 0;
	node->pgdat.node_start_pfn = 0;
	node->pgdat.node_spanned_pages = PAGES_PER_SECTION;
	node_set_state(c->node, N_MEMORY);
	restore_online_page_callback(generic_online_page);
	if (c->callback)
		set_online_page_callback(generic_online_page);
}

/* As memory_block_online() does. */
static void online(const struct boot_case *c, struct zone *zone)
{
	unsigned long pfn, taken = c->memmap_pages;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += c->block_pages) {
		if (taken && mhp_init_memmap_on_memory(pfn, taken, zone))
			replay_warn_trap();
		if (online_pages(pfn + taken, c->block_pages - taken, zone, NULL))
			replay_warn_trap();
		if (taken)
			adjust_present_page_count(pfn_to_page(pfn), NULL, taken);
	}
}

/* Tells of a block on a free list; returns its pages. */
static unsigned long free_block(struct page *page, unsigned int order, unsigned int type)
{
	replay_event(EVENT_FREE_BLOCK, (unsigned long)page, order << 8 | type);
	return 1UL << order;
}

static void prepare(const struct boot_case *c, void *where)
{
	unsigned long end_pfn = c->start_pfn + c->nr_pages;
	struct zone *zone;
	unsigned int i;

	state = where;
	memset(state, 0, sizeof(*state));
	atomic_long_set(&_totalram_pages, 0);
	highest_memmap_pfn = 0;
	zone = prepare_node(&state->node, c->node, c->zone, c->start_pfn, c->nr_pages,
			    SECTION_IS_EARLY | SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE);
	node->pgdat.node_start_pfn = c->start_pfn;
	/* Something follows, as after all zones but a node's last: nothing is deferred again. */
	node->pgdat.node_spanned_pages = c->nr_pages + PAGES_PER_SECTION;
	node->pgdat.first_deferred_pfn = c->start_pfn;
#ifndef CONFIG_JUMP_LABEL
	atomic_set(&check_pages_enabled.key.enabled, c->checked);
#endif
	if (c->what == BOOT_ONLINE) {
		prepare_online(c, zone);
		return;
	}
	if (cpumask_empty(&__cpu_online_mask))
		set_online_cpus(1);
	start_padata();
	node->pgdat.nr_zones = c->zone + 1;
	memblock_add_node(PFN_PHYS(c->start_pfn), PFN_PHYS(c->nr_pages), c->node, 0);
	for (i = 0; i < c->nr_reserved; i++) {
		memblock_reserve(PFN_PHYS(c->reserved[i][0]),
				 PFN_PHYS(c->reserved[i][1] - c->reserved[i][0]));
		if (c->what == BOOT_DEFERRED)
			reserve(c, c->reserved[i][0], c->reserved[i][1]);
	}
	if (c->what == BOOT_RESERVED) {
		prepare_reserved(c);
		return;
	}
	/* The kernel has initialised what it may look at behind the end. */
	reserve(c, end_pfn, ALIGN(end_pfn, MAX_ORDER_NR_PAGES));
}

static void set_cpus(unsigned int nr, unsigned long min_chunk)
{
	set_online_cpus(nr);
}

int deferred_init_memmap(void *data);

static void run(const struct boot_case *c)
{
	struct zone *zone = zone_of(c);

	if (c->what == BOOT_ONLINE)
		online(c, zone);
	else if (c->what == BOOT_RESERVED)
		memblock_free_all();
	else
		deferred_init_memmap(&node->pgdat);
}

static unsigned long walk(const struct boot_case *c)
{
	struct zone *zone;
	unsigned long nr = 0;
	unsigned int order, t;
	struct page *page;

	for_each_zone(zone)
		for (order = 0; order < NR_PAGE_ORDERS; order++)
			for (t = 0; t < MIGRATE_TYPES; t++)
				list_for_each_entry(page, &zone->free_area[order].free_list[t],
						    buddy_list)
					nr += free_block(page, order, t);
	state->totalram = totalram_pages();
	state->highest_pfn = highest_memmap_pfn;
	memcpy(&state->events, &vm_event_states, sizeof(state->events));
	memcpy(state->vm_zone_stat, vm_zone_stat, sizeof(vm_zone_stat));
	return nr;
}

static const struct replay_field fields[] = {
	PAGE_FIELD(lru.next),
	PAGE_FIELD(lru.prev),
	{ }
};

/* The only symbol that stays visible; renamed per tree. */
extern struct boot_side replay_side;
struct boot_side replay_side = {
	.side = {
		.layout = &layout,
		.fields = fields,
		.place = place,
		.trace = trace,
		.set_cpus = set_cpus,
	},
	.prepare = prepare,
	.run = run,
	.walk = walk,
	.state_size = sizeof(struct state),
	.block_pages = MAX_ORDER_NR_PAGES,
	.pageblock_pages = pageblock_nr_pages,
	.zones = { ZONE_NORMAL, ZONE_MOVABLE },
	.lru = offsetof(struct page, lru),
};
