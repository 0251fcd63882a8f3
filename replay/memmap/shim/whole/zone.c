// SPDX-License-Identifier: GPL-2.0
/* The node, its zones with their free lists, and counters. */
#include <linux/memblock.h>
#include <linux/memremap.h>
#include <linux/page-isolation.h>
#include <linux/srcu.h>

#include "../kernel.h"

unsigned long totalreserve_pages, highest_memmap_pfn;
atomic_long_t _totalram_pages;
struct pglist_data *node_data[MAX_NUMNODES];
bool early_page_ext;
int sysctl_min_unmapped_ratio = 1, sysctl_min_slab_ratio = 5, node_reclaim_mode;
enum zone_type policy_zone;
unsigned long __highest_present_section_nr;
/* No compaction runs, so nobody is waited for. */
struct srcu_struct compaction_srcu;

STUB(___ratelimit, BIND | OFFLINE);
#if defined(CONFIG_PREEMPTION) || defined(CONFIG_PREEMPT_DYNAMIC)
STUB(__cond_resched, BIND);
#endif
STUB(dump_page, OFFLINE);
STUB(jiffies_to_msecs, BIND | BOOT | HOTPLUG);
STUB(khugepaged_min_free_kbytes_update, BIND | BOOT | HOTPLUG);
STUB(kswapd_test_hopeless, BIND);
STUB(next_online_pgdat, BOOT | HOTPLUG);
STUB(split_page_memcg, BIND);
STUB(touch_nmi_watchdog, BIND | BOOT);
STUB(touch_softlockup_watchdog, BOOT | HOTPLUG);
STUB(wakeup_kswapd, BIND);
STUB(synchronize_srcu_expedited, HOTPLUG);

#ifndef CONFIG_JUMP_LABEL
/* Off, and read at run time in this configuration. */
struct static_key_false memcg_kmem_online_key;
#endif

bool slab_is_available(void)
{
	return true;
}

int __node_distance(int from, int to)
{
	return from == to ? LOCAL_DISTANCE : REMOTE_DISTANCE;
}

static bool has_unaccepted;

#ifdef CONFIG_UNACCEPTED_MEMORY
bool range_contains_unaccepted_memory(phys_addr_t start, unsigned long size)
{
	return has_unaccepted && PHYS_PFN(start) & MAX_ORDER_NR_PAGES;
}

void accept_memory(phys_addr_t start, unsigned long size)
{
	if (has_unaccepted)
		replay_event(EVENT_ACCEPTED, (unsigned long)pfn_to_page(PHYS_PFN(start)),
			     size >> PAGE_SHIFT);
}
#endif

/* Of mm/mmzone.c. */
struct zoneref *__next_zones_zonelist(struct zoneref *z, enum zone_type highest_zoneidx,
				      const nodemask_t *nodes)
{
	while (zonelist_zone_idx(z) > highest_zoneidx)
		z++;
	return z;
}

static struct per_cpu_pages plugged_pcp;
static struct per_cpu_zonestat plugged_stat;

/* A zone that comes to have memory gets these. */
void __percpu *pcpu_alloc_noprof(size_t size, size_t align, bool reserved, gfp_t gfp)
{
	bool lists = size == sizeof(state->pcp);
	void *memory = lists ? (void *)&state->pcp : &state->zonestat;

	/* The zone that memory is allocated from has those. */
	if (current_what >= WHAT_PLUG)
		memory = lists ? (void *)&plugged_pcp : &plugged_stat;
	return (void __percpu *)(uintptr_t)memory;
}

/* What a kernel calls in place of __pageblock_pfn_to_page(); see harness/link/program.py. */
struct page *replay_pageblock_pfn_to_page(unsigned long pfn, unsigned long end_pfn,
					  struct zone *zone);
struct page *replay_pageblock_pfn_to_page(unsigned long pfn, unsigned long end_pfn,
					  struct zone *zone)
{
	counts.walked++;
	return __pageblock_pfn_to_page(pfn, end_pfn, zone);
}

struct pglist_data *first_online_pgdat(void)
{
	return &state->pgdat;
}

struct zone *next_zone(struct zone *zone)
{
	return ++zone < state->pgdat.node_zones + MAX_NR_ZONES ? zone : NULL;
}

void make_node(const struct memmap_case *c, unsigned int number, unsigned long start_pfn,
	       unsigned long nr_pages)
{
	struct zone *zone;
	unsigned int i, order, t;

	memset(events(), 0, sizeof(*events()));
	memset(vm_zone_stat, 0, sizeof(vm_zone_stat));
	atomic_long_set(&_totalram_pages, 0);
	highest_memmap_pfn = 0;
	for (i = 0; i < MAX_NUMNODES; i++)
		node_data[i] = &state->pgdat;
	state->pgdat.node_id = c->node;
	state->pgdat.nr_zones = MAX_NR_ZONES;
	state->pgdat.node_start_pfn = start_pfn;
	state->pgdat.node_spanned_pages = nr_pages;
	state->pgdat.first_deferred_pfn = ULONG_MAX;
	state->pgdat.per_cpu_nodestats =
		(typeof(state->pgdat.per_cpu_nodestats))(uintptr_t)&state->nodestat;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		zone = &state->pgdat.node_zones[i];
		zone->zone_pgdat = &state->pgdat;
		zone->node = c->node;
		zone->per_cpu_zonestats =
			(typeof(zone->per_cpu_zonestats))(uintptr_t)&state->zonestat;
		for (order = 0; order < NR_PAGE_ORDERS; order++)
			for (t = 0; t < MIGRATE_TYPES; t++)
				INIT_LIST_HEAD(&zone->free_area[order].free_list[t]);
#ifdef CONFIG_UNACCEPTED_MEMORY
		INIT_LIST_HEAD(&zone->unaccepted_pages);
#endif
	}
	has_unaccepted = c->unaccepted;
	state->zonestat.stat_threshold = 125;
	zone = &state->pgdat.node_zones[number];
	zone->zone_start_pfn = start_pfn;
	zone->spanned_pages = nr_pages;
	zone->present_pages = nr_pages;
	zone->initialized = 1;
	memblock.memory.cnt = 0;
	memblock.memory.total_size = 0;
	memblock.reserved.cnt = 0;
	memblock.reserved.total_size = 0;
}

struct per_cpu_pages far_pcp;

/* Of a zone that has plenty. */
void make_lists(struct per_cpu_pages *pcp)
{
	pcp->count = 0;
	pcp->high = 4096;
	pcp->high_min = 4096;
	pcp->high_max = 4096;
	pcp->batch = 63;
	for (unsigned int i = 0; i < NR_PCP_LISTS; i++)
		INIT_LIST_HEAD(&pcp->lists[i]);
}

void reserve(const struct memmap_case *c, unsigned long pfn, unsigned long end_pfn)
{
	for (; pfn < end_pfn; pfn++) {
		__init_single_page(pfn_to_page(pfn), pfn, c->zone, c->node);
		__SetPageReserved(pfn_to_page(pfn));
	}
}

void set_lists(struct zone *zone, struct per_cpu_pages *pcp)
{
	zone->per_cpu_pageset = (typeof(zone->per_cpu_pageset))(uintptr_t)pcp;
}

void make_device_zone(const struct memmap_case *c)
{
#ifdef CONFIG_ZONE_DEVICE
	struct zone *zone = &state->pgdat.node_zones[ZONE_DEVICE];

	zone->zone_start_pfn = c->start_pfn;
	zone->spanned_pages = c->nr_pages;
#ifdef CONFIG_DEBUG_VM
	/* Where a tail is shared and not written, it would have them. */
	for (unsigned long pfn = pageblock_align(c->start_pfn); pfn < c->start_pfn + c->nr_pages;
	     pfn += pageblock_nr_pages)
		set_page_links(pfn_to_page(pfn), ZONE_DEVICE, c->node, pfn);
#endif
#endif
}

static unsigned long tell_free(struct zone *zone)
{
	unsigned long nr = 0;
	struct page *page;

	for (unsigned int order = 0; order < NR_PAGE_ORDERS; order++)
		for (unsigned int type = 0; type < MIGRATE_TYPES; type++)
			list_for_each_entry(page, &zone->free_area[order].free_list[type],
					    buddy_list) {
				replay_event(EVENT_FREE_BLOCK, (unsigned long)page,
					     order << 8 | type);
				nr += 1UL << order;
			}
	return nr;
}

/* Tells of free blocks; returns how many pages are free, and keeps counters in the state. */
unsigned long tell_zones(const struct memmap_case *c)
{
	unsigned long nr = 0;
	struct zone *zone;

	for_each_zone(zone) {
		/* Which pages are left of what a memmap is made of is up to a kernel. */
		if (c->what < WHAT_PLUG || zone == zone_of(c))
			nr += tell_free(zone);
		/* An empty zone points to what each kernel has elsewhere. */
		if (!populated_zone(zone)) {
			zone->per_cpu_pageset = NULL;
			zone->per_cpu_zonestats = NULL;
		}
	}
	state->totalram = totalram_pages();
	state->highest_pfn = highest_memmap_pfn;
	memcpy(&state->events, events(), sizeof(state->events));
	memcpy(state->vm_zone_stat, vm_zone_stat, sizeof(vm_zone_stat));
	return nr;
}

void count(struct memmap_counts *now)
{
	const unsigned int first = PGALLOC_NORMAL - ZONE_NORMAL;
	struct zone *zone;
	unsigned int i;

	*now = counts;
	for (i = first; i < first + MAX_NR_ZONES; i++)
		now->allocated += events()->event[i];
	now->free_pages = state->pcp.count + far_pcp.count -
			  PGMAP->altmap.alloc;
	for_each_zone(zone)
		for (i = 0; i < NR_PAGE_ORDERS; i++)
			now->free_pages += zone->free_area[i].nr_free << i;
}
