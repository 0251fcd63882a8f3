// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of the boot replay: what is needed around mm/mm_init.o,
 * mm/page_alloc.o, mm/memblock.o and mm/vmstat.o, which are the kernel's own.
 *
 * Compiled once per tree and configuration, with that kernel's own headers and
 * command line. These are stubs: the zone lock is taken and released with the
 * same instructions on the lock itself, but interrupts stay as they are; per-CPU
 * data is that of one CPU; nothing preempts; and the function that padata calls
 * for each chunk is called once for all, as padata does with a single thread.
 */
#include <linux/memblock.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nmi.h>
#include <linux/page-isolation.h>
#include <linux/page_ref.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/vmstat.h>

#include "mm_init.h"
#include "page_alloc.h"
#include "boot.h"
#include "../shim.h"

unsigned long highest_memmap_pfn;
bool movable_node_enabled;

#define NR_SECTIONS	4096
static struct mem_section sections[NR_SECTIONS];

/*
 * All that the code changes besides the memmap: at the same address for every
 * kernel, so that it can be compared byte for byte, pointers included.
 */
#define USAGE_SIZE	(sizeof(struct mem_section_usage) + SECTION_BLOCKFLAGS_BITS / 8)
struct state {
	struct pglist_data pgdat;
	struct per_cpu_zonestat zonestat;
	atomic_long_t vm_zone_stat[NR_VM_ZONE_STAT_ITEMS];
	struct vm_event_state events;
	unsigned char usage[NR_SECTIONS][USAGE_SIZE] __aligned(8);
};
static struct state *state;

struct pglist_data *node_data[MAX_NUMNODES];

/* The zone lock. Nobody else takes it: to find it taken is a fault. */
unsigned long __lockfunc _raw_spin_lock_irqsave(raw_spinlock_t *lock)
{
	while (atomic_cmpxchg_acquire(&lock->raw_lock.val, 0, 1))
		boot_warn();
	return 0;
}

void __lockfunc _raw_spin_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags)
{
	smp_store_release(&lock->raw_lock.locked, 0);
}

#ifdef CONFIG_SOFTLOCKUP_DETECTOR
void touch_softlockup_watchdog(void)
{
}
#endif

asmlinkage void preempt_schedule_thunk(void);
asmlinkage void preempt_schedule_thunk(void)
{
}

static void tell_warning(void)
{
	boot_warn();
}

static void tell_count(struct page *page, int count)
{
	boot_ref_set((unsigned long)page, count);
}

#ifdef CONFIG_DEBUG_PAGE_REF
/* Off, and read at run time in this configuration. */
struct tracepoint __tracepoint_mm_page_free;
#endif

#ifndef CONFIG_JUMP_LABEL
/* Off, and read at run time in this configuration. */
struct static_key_false memcg_kmem_online_key;
#endif

static void place(void *pfn0)
{
	vmemmap_base = (unsigned long)pfn0;
}

static struct zone *zone_of(const struct boot_case *c)
{
	return &state->pgdat.node_zones[c->zone];
}

static void reserve(const struct boot_case *c, unsigned long pfn, unsigned long end_pfn)
{
	for (; pfn < end_pfn; pfn++) {
		__init_single_page(pfn_to_page(pfn), pfn, c->zone, c->node);
		__SetPageReserved(pfn_to_page(pfn));
	}
}

static void prepare(const struct boot_case *c, void *where)
{
	unsigned long end_pfn = c->start_pfn + c->nr_pages;
	struct zone *zone;
	unsigned int i, order, t;

	state = where;
	memset(state, 0, sizeof(*state));
	memset(&vm_event_states, 0, sizeof(vm_event_states));
	memset(vm_zone_stat, 0, sizeof(vm_zone_stat));
	for (i = 0; i < ARRAY_SIZE(roots) && !roots[i]; i++)
		roots[i] = sections + i * SECTIONS_PER_ROOT % NR_SECTIONS;
	for (i = 0; i < NR_SECTIONS; i++) {
		sections[i].usage = (struct mem_section_usage *)state->usage[i];
		sections[i].section_mem_map = SECTION_IS_EARLY | SECTION_HAS_MEM_MAP |
					      SECTION_IS_ONLINE;
	}
	for (i = 0; i < MAX_NUMNODES; i++)
		node_data[i] = &state->pgdat;
	state->pgdat.node_id = c->node;
	state->pgdat.nr_zones = MAX_NR_ZONES;
	state->pgdat.node_start_pfn = c->start_pfn;
	/* Something follows, as after all zones but a node's last: nothing is deferred again. */
	state->pgdat.node_spanned_pages = c->nr_pages + PAGES_PER_SECTION;
	state->pgdat.first_deferred_pfn = c->start_pfn;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		zone = &state->pgdat.node_zones[i];
		zone->zone_pgdat = &state->pgdat;
		zone->node = c->node;
		zone->per_cpu_zonestats = (void __force __percpu *)&state->zonestat;
	}
	zone = zone_of(c);
	zone->zone_start_pfn = c->start_pfn;
	zone->spanned_pages = c->nr_pages;
	zone->present_pages = c->nr_pages;
	zone->initialized = 1;
	state->zonestat.stat_threshold = 125;
	for (order = 0; order < NR_PAGE_ORDERS; order++)
		for (t = 0; t < MIGRATE_TYPES; t++)
			INIT_LIST_HEAD(&zone->free_area[order].free_list[t]);
#ifndef CONFIG_JUMP_LABEL
	atomic_set(&check_pages_enabled.key.enabled, c->checked);
#endif

	memblock.memory.cnt = 0;
	memblock.memory.total_size = 0;
	memblock.reserved.cnt = 0;
	memblock.reserved.total_size = 0;
	if (c->what != BOOT_DEFERRED)
		return;
	memblock_add_node(PFN_PHYS(c->start_pfn), PFN_PHYS(c->nr_pages), c->node, 0);
	for (i = 0; i < c->nr_reserved; i++) {
		memblock_reserve(PFN_PHYS(c->reserved[i][0]),
				 PFN_PHYS(c->reserved[i][1] - c->reserved[i][0]));
		reserve(c, c->reserved[i][0], c->reserved[i][1]);
	}
	/* The kernel has initialised what it may look at behind the end. */
	reserve(c, end_pfn, ALIGN(end_pfn, MAX_ORDER_NR_PAGES));
	state->pgdat.first_deferred_pfn = ULONG_MAX;
}

void deferred_init_memmap_job(unsigned long start_pfn, unsigned long end_pfn, void *arg);

static void run(const struct boot_case *c)
{
	struct zone *zone = zone_of(c);

	if (c->what == BOOT_DEFERRED) {
		deferred_init_memmap_job(c->start_pfn, c->start_pfn + c->nr_pages, zone);
		return;
	}
	memmap_init_range(c->nr_pages, c->node, c->zone, c->start_pfn,
			  c->start_pfn + c->nr_pages,
			  c->what == BOOT_EARLY ? MEMINIT_EARLY : MEMINIT_HOTPLUG,
			  NULL, MIGRATE_MOVABLE, c->isolate);
}

static void walk(const struct boot_case *c)
{
	struct zone *zone = zone_of(c);
	unsigned int order, t;
	struct page *page;

	for (order = 0; order < NR_PAGE_ORDERS; order++)
		for (t = 0; t < MIGRATE_TYPES; t++)
			list_for_each_entry(page, &zone->free_area[order].free_list[t], buddy_list)
				boot_free(order, t, (unsigned long)page);
	memcpy(&state->events, &vm_event_states, sizeof(state->events));
	memcpy(state->vm_zone_stat, vm_zone_stat, sizeof(vm_zone_stat));
}

static const char *const types[MIGRATE_TYPES + 1] = {
	[MIGRATE_UNMOVABLE] = "unmovable",
	[MIGRATE_MOVABLE] = "movable",
	[MIGRATE_RECLAIMABLE] = "reclaimable",
	[MIGRATE_HIGHATOMIC] = "highatomic",
};

#define PAGE_FIELD(name) \
	{ #name, 0, offsetof(struct page, name), sizeof_field(struct page, name) }

static const struct replay_field fields[] = {
	PAGE_FIELD(flags),
	{ "lru.next", 0, offsetof(struct page, lru.next), sizeof(void *) },
	{ "lru.prev", 0, offsetof(struct page, lru.prev), sizeof(void *) },
	PAGE_FIELD(mapping),
	PAGE_FIELD(share),
	PAGE_FIELD(private),
	PAGE_FIELD(_mapcount),
	PAGE_FIELD(_refcount),
#ifdef CONFIG_MEMCG
	PAGE_FIELD(memcg_data),
#endif
#ifdef LAST_CPUPID_NOT_IN_PAGE_FLAGS
	PAGE_FIELD(_last_cpupid),
#endif
	{ }
};

static const struct replay_layout *describe(void)
{
	static const struct replay_layout layout = {
		.fields = fields,
		.pages_per_section = PAGES_PER_SECTION,
		.page_struct_size = sizeof(struct page),
		.page_shift = PAGE_SHIFT,
		.nr_nodes = MAX_NUMNODES,
		.can_trace = IS_ENABLED(CONFIG_DEBUG_PAGE_REF),
	};

	return &layout;
}

/* The only symbol that stays visible; renamed per tree. */
extern struct boot_side replay_side;
struct boot_side replay_side = {
	.side = {
		.describe = describe,
		.place = place,
		.trace = trace,
	},
	.prepare = prepare,
	.run = run,
	.walk = walk,
	.migratetypes = types,
	.state_size = sizeof(struct state),
	.block_pages = MAX_ORDER_NR_PAGES,
	.zones = { ZONE_NORMAL, ZONE_MOVABLE },
	.can_check = !IS_ENABLED(CONFIG_JUMP_LABEL),
};
