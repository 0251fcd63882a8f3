// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of the bind replay: what is needed around mm/sparse-vmemmap.o,
 * arch/x86/mm/init_64.o, mm/mm_init.o, mm/memblock.o, mm/page_alloc.o and
 * mm/vmstat.o, which are the kernel's own.
 *
 * Page tables are written, but no CPU uses them: the memmap lies where user space
 * mapped it. Locks are their words, without waiters; TLB flushes are counted, and
 * take no time.
 */
#include <linux/memblock.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page_ref.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmstat.h>
#include <asm/paravirt.h>

#include "internal.h"
#include "mm_init.h"
#include "page_alloc.h"
#include "sparse.h"
#include "bind.h"
#include "../shim.h"
/* The lock that all take; a counting one is below. */
void __lockfunc take_lock(raw_spinlock_t *lock);
#define _raw_spin_lock take_lock
#include "../padata.h"
#undef _raw_spin_lock

unsigned long page_offset_base, phys_base, totalreserve_pages, this_cpu_off;
atomic_long_t _totalram_pages;
unsigned int pgdir_shift = 39, ptrs_per_p4d = 1;
u64 sme_me_mask;
int cpu_number;
phys_addr_t physical_mask = (1ULL << 52) - 1;
LIST_HEAD(pgd_list);
DEFINE_SPINLOCK(pgd_lock);
struct mm_struct init_mm;
struct pglist_data *node_data[MAX_NUMNODES];

#define NR_SECTIONS	4096
#define USAGE_SIZE	(sizeof(struct mem_section_usage) + SECTION_BLOCKFLAGS_BITS / 8)

static struct state {
	pgd_t pgd[PTRS_PER_PGD] __aligned(PAGE_SIZE);
	struct pglist_data pgdat;
	struct per_cpu_zonestat zonestat;
	struct per_cpu_pages pcp;
	struct mem_section sections[NR_SECTIONS];
	unsigned char usage[NR_SECTIONS][USAGE_SIZE] __aligned(8);
} *state;

static struct bind_counts counts;

void __lockfunc _raw_spin_lock(raw_spinlock_t *lock)
{
	counts.locks++;
	take_lock(lock);
}

void *do_nothing(void);
void *do_nothing(void)
{
	return NULL;
}

/* Keeps all registers but RAX. */
asm("	.pushsection .text\n"
	"	.globl pv_same, pv_store\n"
	"pv_same: mov %rdi, %rax\n	ret\n"
	"pv_store: mov %rsi, (%rdi)\n	ret\n"
	"	.popsection\n");
extern char pv_same[], pv_store[];
#define SAME	{ (void *)pv_same }
#define STORE	((void *)pv_store)

/* As natively booted; user space makes direct calls of these. */
struct paravirt_patch_template pv_ops = {
	.mmu = {
		.pte_val = SAME, .make_pte = SAME, .pmd_val = SAME, .make_pmd = SAME,
		.pud_val = SAME, .make_pud = SAME, .pgd_val = SAME, .make_pgd = SAME,
		.p4d_val = SAME, .make_p4d = SAME,
		.set_pte = STORE, .set_pmd = STORE, .set_pud = STORE, .set_p4d = STORE,
		.set_pgd = STORE,
		.alloc_pte = (void *)do_nothing, .alloc_pmd = (void *)do_nothing,
		.alloc_pud = (void *)do_nothing, .alloc_p4d = (void *)do_nothing,
	},
};

#define DO_NOTHING(name) asm(".globl " #name "\n.set " #name ", do_nothing\n")
DO_NOTHING(_printk);
DO_NOTHING(jiffies_to_msecs);
DO_NOTHING(range_contains_unaccepted_memory);
DO_NOTHING(accept_memory);
DO_NOTHING(khugepaged_min_free_kbytes_update);
DO_NOTHING(preempt_schedule_thunk);
DO_NOTHING(update_page_count);
DO_NOTHING(wakeup_kswapd);
DO_NOTHING(touch_nmi_watchdog);

bool slab_is_available(void)
{
	return true;
}

int __node_distance(int from, int to)
{
	return LOCAL_DISTANCE;
}

/* Of the freed pages, which may be known only behind a flush. */
static unsigned long freed_before;

static unsigned long nr_freed(void)
{
	return vm_event_states.event[PGFREE];
}

void flush_tlb_all(void)
{
	counts.flushes++;
	counts.early += nr_freed() - freed_before;
	freed_before = ULONG_MAX / 2;
}

unsigned long __lockfunc _raw_spin_lock_irqsave(raw_spinlock_t *lock)
{
	_raw_spin_lock(lock);
	return 0;
}

void __lockfunc _raw_spin_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags)
{
	_raw_spin_unlock(lock);
}

int __lockfunc _raw_spin_trylock(raw_spinlock_t *lock)
{
	return !atomic_cmpxchg_acquire(&lock->raw_lock.val, 0, _Q_LOCKED_VAL);
}

static struct dev_pagemap *pgmap_of(const struct replay_case *c)
{
	return (struct dev_pagemap *)replay_pgmap;
}

static void prepare(const struct replay_case *c, void *where)
{
	struct dev_pagemap *pgmap = pgmap_of(c);
	struct zone *zone;
	unsigned int i, order, t;
	unsigned long pfn;

	state = where;
	memset(state, 0, sizeof(*state));
	memset(&counts, 0, sizeof(counts));
	memset(&vm_event_states, 0, sizeof(vm_event_states));
	memset(vm_zone_stat, 0, sizeof(vm_zone_stat));
	for (i = 0; i < ARRAY_SIZE(roots) && !roots[i]; i++)
		roots[i] = state->sections + i * SECTIONS_PER_ROOT % NR_SECTIONS;
	for (i = 0; i < NR_SECTIONS; i++) {
		state->sections[i].usage = (struct mem_section_usage *)state->usage[i];
		state->sections[i].section_mem_map = SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE;
	}
	/* vmemmap_populate() in init_64.c uses huge pages only with it. */
	set_cpu_cap(&boot_cpu_data, X86_FEATURE_PSE);
	page_offset_base = (unsigned long)bind_memory() - PFN_PHYS(BIND_RAM_PFN);
	init_mm.pgd = state->pgd;
	spin_lock_init(&init_mm.page_table_lock);
	for (i = 0; i < MAX_NUMNODES; i++)
		node_data[i] = &state->pgdat;
	node_set_state(0, N_MEMORY);
	node_set_state(0, N_ONLINE);
	state->pgdat.node_spanned_pages = 1UL << 30;
	state->pgdat.first_deferred_pfn = ULONG_MAX;
	state->pgdat.nr_zones = MAX_NR_ZONES;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		zone = &state->pgdat.node_zones[i];
		zone->zone_pgdat = &state->pgdat;
		zone->per_cpu_zonestats = (void __force __percpu *)&state->zonestat;
		zone->per_cpu_pageset = (void __force __percpu *)&state->pcp;
#ifdef CONFIG_UNACCEPTED_MEMORY
		INIT_LIST_HEAD(&zone->unaccepted_pages);
#endif
	}
	state->zonestat.stat_threshold = 125;
	/* Of a zone that has plenty. */
	state->pcp.high = 4096;
	state->pcp.high_min = 4096;
	state->pcp.high_max = 4096;
	state->pcp.batch = 63;
	for (i = 0; i < NR_PCP_LISTS; i++)
		INIT_LIST_HEAD(&state->pcp.lists[i]);
	zone = &state->pgdat.node_zones[ZONE_NORMAL];
	zone->zone_start_pfn = BIND_RAM_PFN;
	zone->spanned_pages = BIND_RAM_PAGES;
	zone->present_pages = BIND_RAM_PAGES;
	zone->initialized = 1;
	for (order = 0; order < NR_PAGE_ORDERS; order++)
		for (t = 0; t < MIGRATE_TYPES; t++)
			INIT_LIST_HEAD(&zone->free_area[order].free_list[t]);
	for (i = 0; i < MAX_ZONELISTS; i++)
		state->pgdat.node_zonelists[i]._zonerefs[0] = (struct zoneref) {
			.zone = zone,
			.zone_idx = ZONE_NORMAL,
		};

	memblock.memory.cnt = 0;
	memblock.reserved.cnt = 0;
	memblock.memory.total_size = 0;
	memblock.reserved.total_size = 0;
	memblock_add_node(PFN_PHYS(BIND_RAM_PFN), PFN_PHYS(BIND_RAM_PAGES), 0, 0);
	for (pfn = BIND_RAM_PFN; pfn < BIND_RAM_PFN + BIND_RAM_PAGES; pfn++)
		__init_single_page(pfn_to_page(pfn), pfn, ZONE_NORMAL, 0);
	for (pfn = BIND_RAM_PFN; pfn < BIND_RAM_PFN + BIND_RAM_PAGES; pfn += MAX_ORDER_NR_PAGES)
		__free_pages_core(pfn_to_page(pfn), MAX_PAGE_ORDER, MEMINIT_EARLY);
	memset(&vm_event_states, 0, sizeof(vm_event_states));
	memset(&counts, 0, sizeof(counts));
	if (cpumask_empty(&__cpu_online_mask))
		set_online_cpus(1);

	memset(pgmap, 0, sizeof(*pgmap));
	pgmap->type = c->order ? MEMORY_DEVICE_GENERIC : MEMORY_DEVICE_FS_DAX;
	pgmap->vmemmap_shift = c->order;
	pgmap->range.start = PFN_PHYS(c->start_pfn);
	pgmap->range.end = PFN_PHYS(c->start_pfn + c->nr_pages) - 1;
	if (c->altmap) {
		const struct vmem_altmap altmap = {
			.base_pfn = c->start_pfn,
			.end_pfn = c->start_pfn + c->nr_pages - 1,
			.reserve = c->reserve,
			.free = c->offset,
		};

		memcpy(&pgmap->altmap, &altmap, sizeof(altmap));
		pgmap->flags = PGMAP_ALTMAP_VALID;
	}
}

static int run(const struct replay_case *c, enum bind_part part)
{
	struct dev_pagemap *pgmap = pgmap_of(c);
	unsigned long pfn;

	if (part == BIND_FILL) {
		memmap_init_zone_device(&state->pgdat.node_zones[ZONE_DEVICE], c->start_pfn,
					c->nr_pages, pgmap);
		return 0;
	}
	/* As __add_pages() and __remove_pages() do. */
	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += PAGES_PER_SECTION) {
		unsigned long start = (unsigned long)pfn_to_page(pfn);

		if (part == BIND_FREE) {
			freed_before = nr_freed();
			vmemmap_free(start, start + PAGES_PER_SECTION * sizeof(struct page),
				     pgmap_altmap(pgmap));
			/* Without a flush, all that was freed was freed too early. */
			if (freed_before < ULONG_MAX / 2)
				counts.early += nr_freed() - freed_before;
		} else if (!__populate_section_memmap(pfn, PAGES_PER_SECTION, 0,
						      pgmap_altmap(pgmap), pgmap)) {
			return -ENOMEM;
		}
	}
	return pgmap->altmap.alloc && part == BIND_FREE ? -EBUSY : 0;
}

static void count(struct bind_counts *told)
{
	struct zone *zone = &state->pgdat.node_zones[ZONE_NORMAL];
	unsigned int i;

	*told = counts;
	for (i = PGALLOC_NORMAL - ZONE_NORMAL; i < PGALLOC_NORMAL - ZONE_NORMAL + MAX_NR_ZONES; i++)
		told->allocated += vm_event_states.event[i];
	told->freed = nr_freed();
	told->free_pages = state->pcp.count;
	for (i = 0; i < NR_PAGE_ORDERS; i++)
		told->free_pages += zone->free_area[i].nr_free << i;
}

static unsigned long walk(const struct replay_case *c, unsigned long *words)
{
	unsigned long addr = (unsigned long)pfn_to_page(c->start_pfn), nr = 0;
	unsigned long end = (unsigned long)pfn_to_page(c->start_pfn + c->nr_pages);

	for (; addr < end; addr += PAGE_SIZE) {
		pgd_t *pgd = pgd_offset_k(addr);
		pud_t *pud;
		pmd_t *pmd;
		unsigned long entry;

		if (pgd_none(*pgd))
			continue;
		pud = pud_offset(p4d_offset(pgd, addr), addr);
		if (pud_none(*pud))
			continue;
		pmd = pmd_offset(pud, addr);
		entry = pmd_val(*pmd);
		if (entry && !pmd_leaf(*pmd))
			entry = pte_val(*pte_offset_kernel(pmd, addr));
		if (!entry)
			continue;
		words[nr++] = addr;
		words[nr++] = entry;
		words[nr++] = (entry & PTE_PFN_MASK) >> PAGE_SHIFT;
		if (words[nr - 1] < BIND_RAM_PFN + BIND_RAM_PAGES)
			words[nr - 1] = page_count(pfn_to_page(words[nr - 1]));
	}
	return nr;
}

static const struct replay_field fields[] = {
	PAGE_FIELD(lru.next),
	{ }
};

/* The only symbol that stays visible; renamed per tree. */
extern struct bind_side replay_side;
struct bind_side replay_side = {
	.side = {
		.layout = &layout,
		.fields = fields,
		.place = place,
		.trace = trace,
	},
	.prepare = prepare,
	.run = run,
	.count = count,
	.walk = walk,
	.state_size = sizeof(struct state),
	.init_on_alloc = &init_on_alloc,
};
