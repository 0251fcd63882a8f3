/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel side: the page allocator's node, and what runs with it; shim.c includes this. */
#include <linux/hugetlb.h>
#include <linux/memory.h>
#include <linux/migrate.h>
#include <linux/srcu.h>
#include <asm/paravirt.h>

#include "../arch/x86/mm/mm_internal.h"

#ifdef WITH_OFFLINE
#define HOTPLUGGED	HOTPLUG
#else
#define HOTPLUGGED	ONLINE
#endif
#ifdef WITH_PLUG
#define PLUGGED		PLUG
#else
#define PLUGGED		0
#endif
#define DEVICES	(IS_ENABLED(CONFIG_ZONE_DEVICE) ? FILL | BIND : 0)
#define WHATS	(((DEVICES | BOOT | HOTPLUGGED) & ~PLUG) | PLUGGED)

unsigned long phys_base, totalreserve_pages, highest_memmap_pfn;
atomic_long_t _totalram_pages;
struct pglist_data *node_data[MAX_NUMNODES];
bool early_page_ext;
int sysctl_min_unmapped_ratio = 1, sysctl_min_slab_ratio = 5, node_reclaim_mode;
atomic_t lru_disable_count;
enum zone_type policy_zone;
unsigned long __highest_present_section_nr;
unsigned int pgdir_shift = 39, ptrs_per_p4d = 1;
phys_addr_t physical_mask = (1ULL << 52) - 1;
LIST_HEAD(pgd_list);
DEFINE_SPINLOCK(pgd_lock);
struct mm_struct init_mm;
int after_bootmem = 1;
/* No compaction runs, so nobody is waited for. */
struct srcu_struct compaction_srcu;
#ifdef CONFIG_AMD_MEM_ENCRYPT
u64 sme_me_mask;
#endif
/* Of vmstat.o. */
extern atomic_long_t nr_memmap_pages;

STUB(___ratelimit, BIND | OFFLINE);
#if defined(CONFIG_PREEMPTION) || defined(CONFIG_PREEMPT_DYNAMIC)
STUB(__cond_resched, BIND);
#endif
STUB(__printk_deferred_enter, OFFLINE);
STUB(__printk_deferred_exit, OFFLINE);
STUB(arch_touch_nmi_watchdog, BOOT);
STUB(dump_page, OFFLINE);
STUB(free_percpu, OFFLINE);
STUB(jiffies_to_msecs, BIND | BOOT | HOTPLUG);
STUB(kcompactd_run, HOTPLUG);
STUB(khugepaged_min_free_kbytes_update, BIND | BOOT | HOTPLUG);
STUB(kswapd_run, HOTPLUG);
STUB(kswapd_test_hopeless, BIND);
STUB(mutex_lock, HOTPLUG);
STUB(mutex_unlock, HOTPLUG);
STUB(next_online_pgdat, BOOT | HOTPLUG);
STUB(node_notify, HOTPLUG);
STUB(pv_alloc, BIND);
STUB(set_cpus_allowed_ptr, BOOT);
STUB(sparse_index_init, BIND);
STUB(split_page_memcg, BIND);
STUB(synchronize_srcu_expedited, HOTPLUG);
STUB(touch_nmi_watchdog, BIND | BOOT);
STUB(touch_softlockup_watchdog, BOOT | HOTPLUG);
STUB(wakeup_kswapd, BIND);
STUB(writeback_set_ratelimit, HOTPLUG);

#ifndef CONFIG_JUMP_LABEL
/* Off, and read at run time in this configuration. */
struct static_key_false memcg_kmem_online_key;
#endif

#ifdef CONFIG_PARAVIRT_XXL
/* Keeps all registers but RAX. */
asm("	.pushsection .text\n"
	"	.globl pv_same, pv_store\n"
	"pv_same: mov %rdi, %rax\n"
	RETURN
	"pv_store: mov %rsi, (%rdi)\n"
	RETURN
	"	.popsection\n");
extern char pv_same[], pv_store[], pv_alloc[];
#define SAME	{ (void *)pv_same }
#define STORE	((void *)pv_store)
#define ALLOC	((void *)pv_alloc)

/* As natively booted; boot.c makes direct calls of these. */
struct paravirt_patch_template pv_ops = {
	.mmu = {
		.pte_val = SAME, .make_pte = SAME, .pmd_val = SAME, .make_pmd = SAME,
		.pud_val = SAME, .make_pud = SAME, .pgd_val = SAME, .make_pgd = SAME,
		.p4d_val = SAME, .make_p4d = SAME,
		.set_pte = STORE, .set_pmd = STORE, .set_pud = STORE, .set_p4d = STORE,
		.set_pgd = STORE,
		.alloc_pte = ALLOC, .alloc_pmd = ALLOC, .alloc_pud = ALLOC, .alloc_p4d = ALLOC,
	},
};
#endif

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

/* What another CPU does just before; offline.h sets it. */
static void (*before_lock)(raw_spinlock_t *lock);

/* With one CPU, nobody else takes a lock: to find it taken is a fault. */
unsigned long __lockfunc _raw_spin_lock_irqsave(raw_spinlock_t *lock)
{
	if (before_lock)
		before_lock(lock);
	if (cpumask_weight(&__cpu_online_mask) <= 1 && raw_spin_is_locked(lock))
		warn_trap();
	else
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

/* What a kernel calls in place of __pageblock_pfn_to_page(); see harness/link/program.py. */
struct page *replay_pageblock_pfn_to_page(unsigned long pfn, unsigned long end_pfn,
					  struct zone *zone);
struct page *replay_pageblock_pfn_to_page(unsigned long pfn, unsigned long end_pfn,
					  struct zone *zone)
{
	counts.walked++;
	return __pageblock_pfn_to_page(pfn, end_pfn, zone);
}

/* Events of the CPU: a per-CPU variable, without its address space. */
static struct vm_event_state *events(void)
{
	return (struct vm_event_state *)(uintptr_t)&vm_event_states;
}

struct pglist_data *first_online_pgdat(void)
{
	return &state->pgdat;
}

struct zone *next_zone(struct zone *zone)
{
	return ++zone < state->pgdat.node_zones + MAX_NR_ZONES ? zone : NULL;
}

/* One zone, of which no page is free, and empty ones. */
static void make_node(const struct memmap_case *c, unsigned int number, unsigned long start_pfn,
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

/* As of arch/x86/mm/init.c, after boot. */
void *alloc_low_pages(unsigned int num)
{
	unsigned int order = get_order(num << PAGE_SHIFT);

	return page_address(alloc_pages_node(0, GFP_ATOMIC | __GFP_ZERO, order));
}

#ifdef CONFIG_PROC_FS
static unsigned long direct_pages;

void update_page_count(int level, unsigned long pages)
{
	direct_pages += pages << (level - 1) * PTE_SHIFT;
}
#endif

/* Where memory is scattered, another node's is all in the zone below. */
#define FAR_ZONE	(ZONE_NORMAL - 1)
#define FAR_NODE	min(1, MAX_NUMNODES - 1)
static struct per_cpu_pages far_pcp;

/* Of a zone that has plenty. */
static void make_lists(struct per_cpu_pages *pcp)
{
	pcp->count = 0;
	pcp->high = 4096;
	pcp->high_min = 4096;
	pcp->high_max = 4096;
	pcp->batch = 63;
	for (unsigned int i = 0; i < NR_PCP_LISTS; i++)
		INIT_LIST_HEAD(&pcp->lists[i]);
}

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

static int any_add_section(int nid, unsigned long pfn, unsigned long nr_pages, const void *first,
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

static void prepare_bind(const struct memmap_case *c)
{
	struct zone *far = &state->pgdat.node_zones[FAR_ZONE];
	unsigned int i;

	node_set_state(0, N_MEMORY);
	node_set_state(0, N_ONLINE);
	state->pgdat.node_start_pfn = 0;
	state->pgdat.node_spanned_pages = 1UL << 40;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *one = &state->pgdat.node_zones[i];

		one->per_cpu_pageset = (typeof(one->per_cpu_pageset))(uintptr_t)
			(one == far ? &far_pcp : &state->pcp);
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
	atomic_long_set(&nr_memmap_pages, 0);
#ifdef CONFIG_PROC_FS
	direct_pages = 0;
#endif
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
		error = add_section(pfn, next - pfn, pgmap_altmap(pgmap), pgmap);
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
	arch_remove_memory(PFN_PHYS(pfn), PFN_PHYS(end_pfn - pfn), pgmap_altmap(pgmap), pgmap);
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

/* The entry of an address of the memmap, 0 if it is not mapped. */
static unsigned long find_entry(unsigned long addr)
{
	p4d_t *p4d = p4d_offset(pgd_offset_k(addr), addr);
	pud_t *pud = p4d_none(*p4d) ? NULL : pud_offset(p4d, addr);
	pmd_t *pmd = !pud || pud_none(*pud) ? NULL : pmd_offset(pud, addr);
	unsigned long entry = pmd ? pmd_val(*pmd) : 0;

	return entry && !pmd_leaf(*pmd) ? pte_val(*pte_offset_kernel(pmd, addr)) : entry;
}

/* Where a page of the memmap lies, NULL if that is on the device or nowhere. */
static void *find_memory(const struct memmap_case *c, unsigned long addr)
{
	unsigned long entry = find_entry(addr), pfn = (entry & PTE_PFN_MASK) >> PAGE_SHIFT;

	if (entry & _PAGE_PSE)
		pfn += pte_index(addr);
	return pfn < c->ram_pfn ? NULL : __va(PFN_PHYS(pfn));
}

/* What the kernel wrote through page tables, if somebody used them, is in that memory, too. */
static void write_memory(const struct memmap_case *c)
{
	unsigned long addr = (unsigned long)pfn_to_page(c->start_pfn);
	unsigned long end = (unsigned long)pfn_to_page(c->start_pfn + c->nr_pages);

	for (; addr < end; addr += PAGE_SIZE) {
		struct page *from = (struct page *)addr, *to = find_memory(c, addr);

		for (unsigned int i = 0; to && i < PAGE_SIZE / sizeof(*to); i++)
			/* Else it is as poisoned. */
			if (from[i].flags.f != ULONG_MAX)
				to[i] = from[i];
	}
}

/*
 * The page of an entry by its rank among those that were met: which one the allocator
 * gives does not matter. Pages of a device are themselves.
 */
static unsigned long rank(const struct memmap_case *c, unsigned long pfn)
{
	static struct { unsigned int walk, rank; } ranks[1 << 18];
	static unsigned int walk, met;

	if (!pfn) {
		walk++;
		met = 0;
	}
	if (pfn - c->ram_pfn >= ARRAY_SIZE(ranks))
		return pfn;
	if (ranks[pfn - c->ram_pfn].walk != walk) {
		ranks[pfn - c->ram_pfn].walk = walk;
		ranks[pfn - c->ram_pfn].rank = met++;
	}
	return ranks[pfn - c->ram_pfn].rank;
}

static unsigned long sum(const unsigned long *words)
{
	unsigned long sum = 0;

	for (unsigned int i = 0; i < PAGE_SIZE / sizeof(*words); i++)
		sum = sum * 31 + words[i];
	return sum;
}

/* Tells what is mapped of the memmap of the device and beside it, and what that holds. */
static void walk_tables(const struct memmap_case *c)
{
	unsigned long start = (unsigned long)pfn_to_page(c->start_pfn - c->beside_pages), addr;
	unsigned long end_pfn = c->start_pfn + c->nr_pages + c->beside_pages;
	/* Else, nobody writes some of it, and what the allocator gives is not the same. */
	bool known = all_mapped && c->init_on_alloc && c->poison == POISON_ONES;

	if (known)
		write_memory(c);
	rank(c, 0);
	for (addr = start; addr < (unsigned long)pfn_to_page(end_pfn); addr += PAGE_SIZE) {
		unsigned long entry = find_entry(addr), pfn = (entry & PTE_PFN_MASK) >> PAGE_SHIFT;
		void *memory = find_memory(c, addr);

		if (!entry)
			continue;
		replay_event(EVENT_ENTRY, addr,
			     (entry & ~PTE_PFN_MASK) | rank(c, pfn) << PAGE_SHIFT);
		if (memory)
			replay_event(EVENT_REFERENCES, addr, page_count(pfn_to_page(pfn)));
		if (memory && known)
			replay_event(EVENT_CONTENT, addr, sum(memory));
	}
	replay_event(EVENT_COUNTED, start, atomic_long_read(&nr_memmap_pages));
#ifdef CONFIG_PROC_FS
	replay_event(EVENT_COUNTED, start, direct_pages);
#endif
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

static bool run_bind(const struct memmap_case *c, enum memmap_part part)
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
				       c->nr_pages, pgmap_altmap(pgmap), MIGRATE_MOVABLE, false);
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
#endif

static void reserve(const struct memmap_case *c, unsigned long pfn, unsigned long end_pfn)
{
	for (; pfn < end_pfn; pfn++) {
		__init_single_page(pfn_to_page(pfn), pfn, c->zone, c->node);
		__SetPageReserved(pfn_to_page(pfn));
	}
}

#include "reserved.h"

static void prepare_boot(const struct memmap_case *c)
{
	unsigned long end_pfn = c->start_pfn + c->nr_pages;
	unsigned int i;

	start_padata();
	/* mm_init.o looks up a page of no case, and forgets the nodes of the case before. */
	memblock_add_node(0, PAGE_SIZE, 0, 0);
	early_pfn_to_nid(0);
	memblock_remove(0, PAGE_SIZE);
	memblock_add_node(PFN_PHYS(c->start_pfn), PFN_PHYS(c->nr_pages), c->node, 0);
	for (i = 0; i < c->nr_reserved && c->owner != OWNER_KHO; i++) {
		memblock_reserve(PFN_PHYS(c->reserved[i][0]),
				 PFN_PHYS(c->reserved[i][1] - c->reserved[i][0]));
		if (c->what == WHAT_DEFERRED)
			reserve(c, c->reserved[i][0], c->reserved[i][1]);
	}
	if (c->what == WHAT_RESERVED) {
		prepare_reserved(c);
		return;
	}
	state->pgdat.nr_zones = c->zone + 1;
	/* Something follows, as after all zones but a node's last: nothing is deferred again. */
	state->pgdat.node_spanned_pages += PAGES_PER_SECTION;
	state->pgdat.first_deferred_pfn = c->start_pfn;
	/* The kernel has initialised what it may look at behind the end. */
	reserve(c, end_pfn, ALIGN(end_pfn, MAX_ORDER_NR_PAGES));
}

/* Memory of the lowest zone is there, and marks the node and the zone as populated. */
static void prepare_online(const struct memmap_case *c)
{
	struct zone *lowest = state->pgdat.node_zones;

	state->pgdat.node_present_pages = PAGES_PER_SECTION;
	lowest->spanned_pages = PAGES_PER_SECTION;
	lowest->present_pages = PAGES_PER_SECTION;
	atomic_long_set(&lowest->managed_pages, PAGES_PER_SECTION);
	zone_of(c)->spanned_pages = 0;
	zone_of(c)->initialized = 0;
	state->pgdat.node_start_pfn = 0;
	state->pgdat.node_spanned_pages = PAGES_PER_SECTION;
	nodes_clear(node_states[N_MEMORY]);
	node_set_state(c->node, N_MEMORY);
	/* For lists of zones. */
	nodes_clear(node_states[N_POSSIBLE]);
	node_set_state(c->node, N_POSSIBLE);
	restore_online_page_callback(generic_online_page);
	if (c->callback && set_online_page_callback(generic_online_page))
		warn_trap();
}

/* As memory_block_online() does. */
static int online_block(const struct memmap_case *c, unsigned long pfn)
{
	unsigned long taken = c->memmap_pages;
	int error = taken ? mhp_init_memmap_on_memory(pfn, taken, zone_of(c)) : 0;

	if (error)
		return error;
	error = online_pages(pfn + taken, c->block_pages - taken, zone_of(c), NULL);
	if (error) {
		if (taken)
			mhp_deinit_memmap_on_memory(pfn, taken);
		/* The struct pages count as uninitialised; each kernel leaves others. */
		memset(pfn_to_page(pfn), 0, c->block_pages * sizeof(struct page));
	} else if (taken) {
		adjust_present_page_count(pfn_to_page(pfn), NULL, taken);
	}
	return error;
}

static void online(const struct memmap_case *c)
{
	unsigned long pfn;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += c->block_pages)
		if (online_block(c, pfn))
			warn_trap();
}

#include "offline.h"
#include "plug.h"

static unsigned long prepare(const struct memmap_case *c, void *where)
{
	static const unsigned long flags[] = {
		[WHAT_BIND] = SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE,
		[WHAT_DEFERRED] = SECTION_IS_EARLY | SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE,
		[WHAT_RESERVED] = SECTION_IS_EARLY | SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE,
		[WHAT_ONLINE] = SECTION_MARKED_PRESENT | SECTION_HAS_MEM_MAP,
		[WHAT_OFFLINE] = SECTION_MARKED_PRESENT | SECTION_HAS_MEM_MAP,
		[WHAT_PLUG] = SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE,
		[WHAT_UNPLUG] = SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE,
	};
	unsigned long end_pfn = c->start_pfn + c->nr_pages, bytes;
	unsigned long __maybe_unused pfn;
	bool bind = c->what == WHAT_BIND || c->what >= WHAT_PLUG;

	current_what = c->what;
	state = where;
	task.flags = 0;
	system_state = c->what >= WHAT_OFFLINE ? SYSTEM_RUNNING : SYSTEM_BOOTING;
	helpers_node = NUMA_NO_NODE;
	bytes = make_sections(c->start_pfn, bind ? c->ram_pfn + c->ram_pages : end_pfn,
			      flags[c->what]);
	__highest_present_section_nr = pfn_to_section_nr(end_pfn);
	make_node(c, bind ? ZONE_NORMAL : c->zone, bind ? c->ram_pfn : c->start_pfn,
		  bind ? c->ram_pages : c->nr_pages);
#ifndef CONFIG_JUMP_LABEL
	atomic_set(&check_pages_enabled.key.enabled, c->checked);
#endif
#ifdef CONFIG_ZONE_DEVICE
	if (c->what <= WHAT_BIND) {
		state->pgdat.node_zones[ZONE_DEVICE].zone_start_pfn = c->start_pfn;
		state->pgdat.node_zones[ZONE_DEVICE].spanned_pages = c->nr_pages;
#ifdef CONFIG_DEBUG_VM
		/* Where a tail is shared and not written, it would have them. */
		for (pfn = pageblock_align(c->start_pfn); pfn < end_pfn; pfn += pageblock_nr_pages)
			set_page_links(pfn_to_page(pfn), ZONE_DEVICE, c->node, pfn);
#endif
	}
	if (c->what == WHAT_FILL)
		prepare_fill(c);
	else if (bind)
		prepare_bind(c);
	else
#endif
	if (c->what < WHAT_ONLINE)
		prepare_boot(c);
	else
		prepare_online(c);
	if (c->what == WHAT_OFFLINE)
		prepare_offline(c, zone_of(c));
	if (c->what >= WHAT_PLUG)
		prepare_plug(c);
	memset(&counts, 0, sizeof(counts));
	/* What a bind allocates where is not compared. */
	return bind ? 0 : bytes;
}

int deferred_init_memmap(void *data);

static void run_deferred(const struct memmap_case *c)
{
	unsigned int i;

	/* A zone that grows is the node's last. */
	state->pgdat.node_spanned_pages -= PAGES_PER_SECTION;
	for (i = 0; i < c->grown; i++)
		replay_event(EVENT_RESULT, (unsigned long)pfn_to_page(c->start_pfn),
			     deferred_grow_zone(zone_of(c), 0));
	state->pgdat.node_spanned_pages += PAGES_PER_SECTION;
	deferred_init_memmap(&state->pgdat);
}

static bool run(const struct memmap_case *c, enum memmap_part part)
{
#ifdef CONFIG_ZONE_DEVICE
	if (c->what == WHAT_BIND)
		return run_bind(c, part);
	if (c->what == WHAT_FILL)
		fill(c->start_pfn, c->nr_pages);
	else
#endif
	if (c->what == WHAT_ONLINE)
		online(c);
	else if (c->what >= WHAT_PLUG)
		run_plug(c);
	else if (c->what == WHAT_OFFLINE)
		run_offline(c, zone_of(c));
	else if (c->what == WHAT_RESERVED)
		run_reserved(c);
	else
		run_deferred(c);
	return true;
}

static unsigned long finish(const struct memmap_case *c)
{
	struct zone *zone;
	unsigned long nr = 0;
	unsigned int order, t;
	struct page *page;

#ifdef CONFIG_ZONE_DEVICE
	if (c->what == WHAT_BIND || c->what >= WHAT_PLUG)
		walk_tables(c);
	if (c->what == WHAT_BIND)
		return 0;
#endif
	for_each_zone(zone)
		for (order = 0; order < NR_PAGE_ORDERS; order++)
			/* Which pages are left of what a memmap is made of is up to a kernel. */
			for (t = 0; t < MIGRATE_TYPES &&
			     (c->what < WHAT_PLUG || zone == zone_of(c)); t++)
				list_for_each_entry(page, &zone->free_area[order].free_list[t],
						    buddy_list) {
					replay_event(EVENT_FREE_BLOCK, (unsigned long)page,
						     order << 8 | t);
					nr += 1UL << order;
				}
	/* An empty zone points to what each kernel has elsewhere. */
	for_each_zone(zone)
		if (!populated_zone(zone)) {
			zone->per_cpu_pageset = NULL;
			zone->per_cpu_zonestats = NULL;
		}
	state->totalram = totalram_pages();
	state->highest_pfn = highest_memmap_pfn;
	memcpy(&state->events, events(), sizeof(state->events));
	memcpy(state->vm_zone_stat, vm_zone_stat, sizeof(vm_zone_stat));
	return nr;
}

static void count(struct memmap_counts *told)
{
	struct zone *zone;
	unsigned int i;

	*told = counts;
	for (i = PGALLOC_NORMAL - ZONE_NORMAL; i < PGALLOC_NORMAL - ZONE_NORMAL + MAX_NR_ZONES; i++)
		told->allocated += events()->event[i];
	told->free_pages = state->pcp.count + far_pcp.count -
			   ((struct dev_pagemap *)replay_pgmap)->altmap.alloc;
	for_each_zone(zone)
		for (i = 0; i < NR_PAGE_ORDERS; i++)
			told->free_pages += zone->free_area[i].nr_free << i;
}
