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
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/spinlock.h>
#include <asm/paravirt.h>

#include "internal.h"
#include "mm_init.h"
#include "page_alloc.h"
#include "sparse.h"
#include "bind.h"
#include "../shim.h"
static struct bind_counts counts;
#define note_lock()	(counts.locks++)
#include "../padata.h"
#include "../node.h"
#include "../pgmap.h"

unsigned long this_cpu_off;
unsigned int pgdir_shift = 39, ptrs_per_p4d = 1;
u64 sme_me_mask;
int cpu_number, node_reclaim_mode;
phys_addr_t physical_mask = (1ULL << 52) - 1;
LIST_HEAD(pgd_list);
DEFINE_SPINLOCK(pgd_lock);
struct mm_struct init_mm;

static struct state {
	pgd_t pgd[PTRS_PER_PGD] __aligned(PAGE_SIZE);
	struct replay_node node;
	struct per_cpu_pages pcp;
} *state;

/* Keeps all registers but RAX. */
asm("	.pushsection .text\n"
	"	.globl pv_same, pv_store\n"
	"pv_same: mov %rdi, %rax\n"
	RETURN
	"pv_store: mov %rsi, (%rdi)\n"
	RETURN
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

DO_NOTHING(___ratelimit);
DO_NOTHING(kswapd_test_hopeless);
DO_NOTHING(update_page_count);
DO_NOTHING(wakeup_kswapd);
DO_NOTHING(touch_nmi_watchdog);

/* padata calls its function so, once per fill. */
asm(".globl __x86_indirect_thunk_rax\n__x86_indirect_thunk_rax: jmp *%rax\n");

int _printk(const char *format, ...)
{
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

/* So many pages were freed when the TLB was flushed. */
static unsigned long freed_at_flush;

void flush_tlb_all(void)
{
	counts.flushes++;
	freed_at_flush = vm_event_states.event[PGFREE];
}

int __lockfunc _raw_spin_trylock(raw_spinlock_t *lock)
{
	return !atomic_cmpxchg_acquire(&lock->raw_lock.val, 0, _Q_LOCKED_VAL);
}

static struct dev_pagemap *const pgmap = (struct dev_pagemap *)replay_pgmap;

static void add_ram(unsigned long pfn, unsigned long end_pfn, int nid)
{
	memblock_add_node(PFN_PHYS(pfn), PFN_PHYS(end_pfn - pfn), nid, 0);
}

/* Memory that is free, and of which struct pages say so. */
static void free_ram(const struct bind_case *c)
{
	unsigned long pfn, end_pfn = BIND_RAM_PFN + c->ram_pages, far = c->far_pfn ?: end_pfn;
	unsigned int order = MAX_PAGE_ORDER;

	/* mm_init.o looks up a page of no case, and forgets the nodes of the case before. */
	add_ram(0, 1, 0);
	early_pfn_to_nid(0);
	add_ram(BIND_RAM_PFN, far, 0);
	if (far < end_pfn) {
		add_ram(far, far + 1, 1);
		add_ram(far + 1, end_pfn, 0);
	}
	/* The allocator may look at what is behind the end. */
	for (pfn = BIND_RAM_PFN; pfn < ALIGN(end_pfn, MAX_ORDER_NR_PAGES); pfn++)
		__init_single_page(pfn_to_page(pfn), pfn, ZONE_NORMAL, 0);
	for (pfn = BIND_RAM_PFN; pfn < end_pfn; pfn += 1UL << order) {
		while (pfn + (1UL << order) > end_pfn)
			order--;
		__free_pages_core(pfn_to_page(pfn), order, MEMINIT_EARLY);
	}
}

static void prepare(const struct bind_case *c, void *where)
{
	struct zone *zone;
	unsigned int i;

	state = where;
	memset(state, 0, sizeof(*state));
	zone = prepare_node(&state->node, 0, ZONE_NORMAL, BIND_RAM_PFN, c->ram_pages,
			    SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE);
	node_set_state(0, N_MEMORY);
	node_set_state(0, N_ONLINE);
	node->pgdat.node_spanned_pages = 1UL << 30;
	node->pgdat.first_deferred_pfn = ULONG_MAX;
	for (i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *one = &node->pgdat.node_zones[i];

		one->per_cpu_pageset = (void __force __percpu *)&state->pcp;
		INIT_LIST_HEAD(&one->unaccepted_pages);
	}
	for (i = 0; i < MAX_ZONELISTS; i++)
		node->pgdat.node_zonelists[i]._zonerefs[0] = (struct zoneref) {
			.zone = zone,
			.zone_idx = ZONE_NORMAL,
		};
	/* Of a zone that has plenty. */
	state->pcp.high = 4096;
	state->pcp.high_min = 4096;
	state->pcp.high_max = 4096;
	state->pcp.batch = 63;
	for (i = 0; i < NR_PCP_LISTS; i++)
		INIT_LIST_HEAD(&state->pcp.lists[i]);
	/* Who is out of memory gets none by reclaim. */
	task.flags = PF_MEMALLOC;
	set_online_cpus(1);
	/* vmemmap_populate() in init_64.c uses huge pages only with it. */
	set_cpu_cap(&boot_cpu_data, X86_FEATURE_PSE);
	page_offset_base = (unsigned long)replay_memory() - PFN_PHYS(BIND_RAM_PFN);
	init_mm.pgd = state->pgd;
	spin_lock_init(&init_mm.page_table_lock);
	free_ram(c);
	memset(&vm_event_states, 0, sizeof(vm_event_states));
	memset(&counts, 0, sizeof(counts));
	make_pgmap((const struct replay_case *)c, 0);
}

static void free_section(unsigned long pfn)
{
	unsigned long start = (unsigned long)pfn_to_page(pfn);
	unsigned long freed = vm_event_states.event[PGFREE];

	/* Without a flush, all that is freed is freed too early. */
	freed_at_flush = ULONG_MAX;
	vmemmap_free(start, start + PAGES_PER_SECTION * sizeof(struct page), pgmap_altmap(pgmap));
	counts.early += min(freed_at_flush, vm_event_states.event[PGFREE]) - freed;
}

/* As __add_pages() does, and section_activate() where it fails. */
static bool populate(const struct bind_case *c)
{
	unsigned long pfn;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += PAGES_PER_SECTION) {
		if (__populate_section_memmap(pfn, PAGES_PER_SECTION, 0, pgmap_altmap(pgmap),
					      pgmap))
			continue;
		replay_event(EVENT_NO_MEMORY, (unsigned long)pfn_to_page(pfn), 0);
		free_section(pfn);
		return false;
	}
	return true;
}

static bool fill(const struct bind_case *c)
{
	memmap_init_zone_device(&node->pgdat.node_zones[ZONE_DEVICE], c->start_pfn, c->nr_pages,
				pgmap);
	return true;
}

/* As __remove_pages() does. */
static bool unmap(const struct bind_case *c)
{
	unsigned long pfn;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += PAGES_PER_SECTION)
		free_section(pfn);
	return true;
}

static void count(struct bind_counts *told)
{
	struct zone *zone = &node->pgdat.node_zones[ZONE_NORMAL];
	unsigned int i;

	*told = counts;
	for (i = PGALLOC_NORMAL - ZONE_NORMAL; i < PGALLOC_NORMAL - ZONE_NORMAL + MAX_NR_ZONES; i++)
		told->allocated += vm_event_states.event[i];
	told->free_pages = state->pcp.count - pgmap->altmap.alloc;
	for (i = 0; i < NR_PAGE_ORDERS; i++)
		told->free_pages += zone->free_area[i].nr_free << i;
}

static void walk(const struct bind_case *c)
{
	unsigned long addr = (unsigned long)pfn_to_page(c->start_pfn);
	unsigned long end = (unsigned long)pfn_to_page(c->start_pfn + c->nr_pages);

	for (; addr < end; addr += PAGE_SIZE) {
		pgd_t *pgd = pgd_offset_k(addr);
		pud_t *pud = pgd_none(*pgd) ? NULL : pud_offset(p4d_offset(pgd, addr), addr);
		pmd_t *pmd = !pud || pud_none(*pud) ? NULL : pmd_offset(pud, addr);
		unsigned long entry = pmd ? pmd_val(*pmd) : 0, pfn;

		if (entry && !pmd_leaf(*pmd))
			entry = pte_val(*pte_offset_kernel(pmd, addr));
		if (!entry)
			continue;
		replay_event(EVENT_ENTRY, addr, entry);
		pfn = (entry & PTE_PFN_MASK) >> PAGE_SHIFT;
		if (pfn >= BIND_RAM_PFN)
			replay_event(EVENT_REFERENCES, (unsigned long)pfn_to_page(pfn),
				     page_count(pfn_to_page(pfn)));
	}
}

/* The only symbol that stays visible; renamed per tree. */
extern struct bind_side replay_side;
struct bind_side replay_side = {
	.side = {
		.layout = &layout,
		.fields = page_fields,
		.place = place,
		.trace = trace,
	},
	.prepare = prepare,
	.parts = { populate, fill, unmap },
	.count = count,
	.walk = walk,
	.state_size = sizeof(struct state),
	.init_on_alloc = &init_on_alloc,
};
