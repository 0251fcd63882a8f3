/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel side: one node, and what mm/page_alloc.o, mm/memblock.o and mm/vmstat.o
 * need around them. A shim includes this behind shim.h and padata.h.
 *
 * The zone lock is taken and released with the kernel's instructions on the lock
 * itself, but interrupts stay as they are, and waiters do not queue; per-CPU data
 * is that of one CPU, also where several threads count in it; nothing preempts.
 */
#include <linux/memblock.h>
#include <linux/mmzone.h>
#include <linux/vmstat.h>

unsigned long page_offset_base, phys_base, totalreserve_pages;
atomic_long_t _totalram_pages;
struct pglist_data *node_data[MAX_NUMNODES];

#define NR_SECTIONS	4096
#define USAGE_SIZE	(sizeof(struct mem_section_usage) + SECTION_BLOCKFLAGS_BITS / 8)

/* What the code changes of a node, besides the memmap. */
static struct replay_node {
	struct pglist_data pgdat;
	struct per_cpu_zonestat zonestat;
	struct mem_section sections[NR_SECTIONS];
	unsigned char usage[NR_SECTIONS][USAGE_SIZE] __aligned(8);
} *node;

/* All that is called and need not do anything, or returns NULL. */
void *do_nothing(void);
void *do_nothing(void)
{
	return NULL;
}

#define DO_NOTHING(name) asm(".globl " #name "\n.set " #name ", do_nothing\n")
DO_NOTHING(accept_memory);
DO_NOTHING(jiffies_to_msecs);
DO_NOTHING(khugepaged_min_free_kbytes_update);
DO_NOTHING(range_contains_unaccepted_memory);

/* With one CPU, nobody else takes a lock: to find it taken is a fault. */
unsigned long __lockfunc _raw_spin_lock_irqsave(raw_spinlock_t *lock)
{
	if (cpumask_weight(&__cpu_online_mask) <= 1 && raw_spin_is_locked(lock))
		replay_warn_trap();
	else
		_raw_spin_lock(lock);
	return 0;
}

void __lockfunc _raw_spin_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags)
{
	_raw_spin_unlock(lock);
}

/*
 * Starts a case in @where, with that zone of so many pages, none of them free. The
 * sections have @flags.
 */
static struct zone *prepare_node(struct replay_node *where, int nid, unsigned int number,
				 unsigned long start_pfn, unsigned long nr_pages,
				 unsigned long flags)
{
	struct zone *zone;
	unsigned int i, order, t;

	node = where;
	memset(&vm_event_states, 0, sizeof(vm_event_states));
	memset(vm_zone_stat, 0, sizeof(vm_zone_stat));
	for (i = 0; i < ARRAY_SIZE(roots) && !roots[i]; i++)
		roots[i] = node->sections + i * SECTIONS_PER_ROOT % NR_SECTIONS;
	for (i = 0; i < NR_SECTIONS; i++) {
		struct mem_section *section = &node->sections[i];

		section->usage = (struct mem_section_usage *)node->usage[i];
		bitmap_fill(section->usage->subsection_map, SUBSECTIONS_PER_SECTION);
		section->section_mem_map = flags;
	}
	for (i = 0; i < MAX_NUMNODES; i++)
		node_data[i] = &node->pgdat;
	node->pgdat.node_id = nid;
	node->pgdat.nr_zones = MAX_NR_ZONES;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		zone = &node->pgdat.node_zones[i];
		zone->zone_pgdat = &node->pgdat;
		zone->node = nid;
		zone->per_cpu_zonestats = (void __force __percpu *)&node->zonestat;
		for (order = 0; order < NR_PAGE_ORDERS; order++)
			for (t = 0; t < MIGRATE_TYPES; t++)
				INIT_LIST_HEAD(&zone->free_area[order].free_list[t]);
	}
	node->zonestat.stat_threshold = 125;
	zone = &node->pgdat.node_zones[number];
	zone->zone_start_pfn = start_pfn;
	zone->spanned_pages = nr_pages;
	zone->present_pages = nr_pages;
	zone->initialized = 1;
	memblock.memory.cnt = 0;
	memblock.memory.total_size = 0;
	memblock.reserved.cnt = 0;
	memblock.reserved.total_size = 0;
	return zone;
}
