// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of `copy`: the ways in which a kernel can copy, and what is needed around
 * mm/migrate.o, mm/util.o, arch/x86/lib/copy_mc.o and copy_mc_64.o, which are the kernel's own.
 * Compiled once per tree, with that kernel's own headers and command line.
 *
 * These are stubs: node 0 is the top tier, node 1 a lower one; the page allocator has one folio,
 * which it zeroes if it has to; a page that cannot be read is reported to user space; a folio is in
 * one page table, and in no cgroup.
 */
#include <linux/memcontrol.h>
#include <linux/memory-tiers.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#if __has_include("linux/memcpy_nt.h")
#include <linux/memcpy_nt.h>
#endif
#include <asm/paravirt.h>

#include "internal.h"
#include "page_alloc.h"
#include "../copy.h"

struct paravirt_patch_template pv_ops;

#ifndef memcpy_nt
#define memcpy_nt memcpy
#endif

/* The barrier makes each copy load its source, as a caller that has another one each time. */
static void copy_64(void *to, const void *from, unsigned long nr, unsigned long apart)
{
	for (; nr--; to += apart) {
		memcpy_nt(to, from, 64);
		barrier();
	}
}

bool node_is_toptier(int node)
{
	return !node;
}

void memory_failure_queue(unsigned long pfn, int flags)
{
	replay_tell(POISONED, pfn);
}

/* Per CPU, as those of ../../shim/cpu.c */
asm("	.pushsection .bss\n"
	"	.globl vm_event_states, mthp_stats\n"
	"	.balign 8\n"
	"vm_event_states:\n"
	"mthp_stats: .skip 4096\n"
	"	.popsection\n");
struct pglist_data *node_data[MAX_NUMNODES];
#ifdef CONFIG_NUMA_BALANCING
int sysctl_numa_balancing_mode;
int folio_xchg_last_cpupid(struct folio *folio, int cpupid) { return cpupid; }
#endif
#ifdef CONFIG_KSM
void folio_migrate_ksm(struct folio *to, struct folio *from) { }
#endif
void mem_cgroup_migrate(struct folio *from, struct folio *to) { }
void try_to_unmap_flush(void) { }
void folio_unlock(struct folio *folio) { __folio_clear_locked(folio); }
void __folio_put(struct folio *folio) { replay_tell(FREED, folio_pfn(folio)); }
void mod_node_page_state(struct pglist_data *pgdat, enum node_stat_item item, long delta) { }

/* Each folio belongs to it, and is in one page table or in none. */
static struct anon_vma anon_vma = { .refcount = ATOMIC_INIT(1) };

struct anon_vma *folio_get_anon_vma(const struct folio *folio)
{
	get_anon_vma(&anon_vma);
	return &anon_vma;
}

static void map(struct folio *folio, int by)
{
	atomic_add(by, folio_test_large(folio) ? &folio->_large_mapcount : &folio->_mapcount);
	folio_ref_add(folio, by);
}

void folio_add_lru(struct folio *folio)
{
	replay_tell(FOUND, folio_pfn(folio));
	folio_get(folio);
}

void try_to_migrate(struct folio *folio, enum ttu_flags flags)
{
	map(folio, -1);
}

void rmap_walk(struct folio *folio, struct rmap_walk_control *rwc)
{
	replay_tell(FOUND, folio_pfn(folio));
	map(folio, 1);
}

#ifdef copy_mc_nt
/* mm/migrate.o calls this instead: see COPY in harness/link/program.py. */
unsigned long replay_stream(void *to, const void *from, unsigned int n);
unsigned long replay_stream(void *to, const void *from, unsigned int n)
{
	replay_tell(STREAMED, n);
	return copy_mc_nt(to, from, n);
}
#else
#define ALLOC_NO_INIT	0
#endif

/* What is allocated next */
static struct page *free_page;
static bool zeroes;

struct page *__alloc_pages_noprof(gfp_t gfp, unsigned int order, int nid, nodemask_t *nodemask,
				  unsigned int alloc_flags)
{
	/* What was streamed to the target before, of a copy that failed, does not count. */
	replay_tell(STREAMED, 0);
	if (zeroes && !(alloc_flags & ALLOC_NO_INIT)) {
		replay_tell(ZEROED, PAGE_SIZE << order);
		clear_pages(page_address(free_page), 1U << order);
	}
	set_page_count(free_page, 1);
	return free_page;
}

struct folio *__folio_alloc_noprof(gfp_t gfp, unsigned int order, int nid, nodemask_t *nodemask)
{
	return page_folio(__alloc_pages_noprof(gfp, order, nid, nodemask, ALLOC_DEFAULT));
}

static void place(void *pfn0)
{
	vmemmap_base = (unsigned long)pfn0;
}

static void make_folio(unsigned long pfn, unsigned int order, int node)
{
	struct page *page = pfn_to_page(pfn);
	unsigned long i;

	memset(page, 0, sizeof(*page) << order);
	for (i = 0; i < 1UL << order; i++)
		set_page_links(page + i, ZONE_NORMAL, node, pfn + i);
	atomic_set(&page->_mapcount, -1);
	set_page_count(page, 1);
	if (!order)
		return;
	__SetPageHead(page);
	for (i = 1; i < 1UL << order; i++)
		prep_compound_tail(page + i, page, order);
	prep_compound_head(page, order);
}

static void prepare(const struct copy_folio *c)
{
	struct folio *from = page_folio(pfn_to_page(c->from));

	page_offset_base = COPY_DATA + c->shift;
	make_folio(c->from, c->order, c->from_lower);
	make_folio(c->to, c->order, c->lower);
	from->mapping = (void *)&anon_vma + FOLIO_MAPPING_ANON;
	map(from, 1);
	folio_ref_add(from, c->pinned);
}

/* As alloc_migration_target_by_mpol() */
static struct folio *alloc_by_policy(struct folio *from, unsigned long unused)
{
	return __folio_alloc_noprof(GFP_TRANSHUGE, folio_order(from), 1, NULL);
}

/*
 * As demote_folio_list(), do_move_pages_to_node(), do_mbind() and do_migrate_range(). What they
 * allow the allocator to do is all the same to the stub.
 */
static int run(const struct copy_folio *c, bool init_on_alloc)
{
	static const enum migrate_reason reasons[] = {
		MR_DEMOTION, MR_SYSCALL, MR_MEMPOLICY_MBIND, MR_MEMORY_HOTPLUG
	};
	struct migration_target_control mtc = {
		.nid = c->path == OFFLINE ? c->from_lower : c->lower,
		.gfp_mask = GFP_TRANSHUGE,
	};
	LIST_HEAD(folios);

	free_page = pfn_to_page(c->to);
	zeroes = init_on_alloc;
	list_add(&page_folio(pfn_to_page(c->from))->lru, &folios);
	return migrate_pages(&folios, c->path == MBIND ? alloc_by_policy : alloc_migration_target,
			     NULL, (unsigned long)&mtc,
			     c->path == RECLAIM ? MIGRATE_ASYNC : MIGRATE_SYNC, reasons[c->path],
			     NULL);
}

static const struct replay_layout layout = {
	.page_struct_size = sizeof(struct page),
	.has_mask = compound_info_has_mask,
};

/* The only symbol that stays visible; renamed per tree. */
extern struct copy_side replay_side;
struct copy_side replay_side = {
	.side = {
		.layout = &layout,
		.place = place,
	},
	.copy_64 = copy_64,
	.prepare = prepare,
	.run = run,
};
