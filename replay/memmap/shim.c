// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of `memmap`: what is needed around the kernel's own objects, which are mm_init.o,
 * page_alloc.o, memblock.o, vmstat.o, memory_hotplug.o, page_isolation.o and sparse-vmemmap.o of
 * mm/, arch/x86/mm/init_64.o and kernel/padata.o. Compiled once per tree and configuration, with
 * that kernel's own headers and command line.
 *
 * There is one node. Locks are taken and released with the kernel's instructions, but interrupts
 * stay as they are, and waiters do not queue; per-CPU data is that of one CPU, also where several
 * threads count in it; nothing preempts. Page tables are written, but no CPU uses them: the memmap
 * lies where user space mapped it. TLB flushes are counted, and take no time.
 */
#include <linux/memblock.h>
#include <linux/memory_hotplug.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/nmi.h>
#include <linux/padata.h>
#include <linux/page-isolation.h>
#include <linux/page_ref.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/vmstat.h>

#include "internal.h"
#include "mm_init.h"
#include "page_alloc.h"
#include "sparse.h"
#include "memmap.h"
#include "../shim.h"

#ifndef CONFIG_SPARSEMEM_EXTREME
#error "the shim provides mem_section as SPARSEMEM_EXTREME has it"
#endif

/* Elsewhere, mm_init.o is alone: on arm64 as emulated, and with the struct page of KMSAN. */
#if defined(CONFIG_X86_64) && !defined(CONFIG_KMSAN)
#define WITH_ALLOCATOR
#endif

static struct memmap_counts counts;
static enum memmap_what current_what;

/* What is called, returns 0 and need not do anything, where one of @whats runs. */
#define STUB(name, whats)						\
static void *__used stub_##name(void)					\
{									\
	if (!((whats) >> current_what & 1))				\
		replay_unexpected(#name);				\
	return NULL;							\
}									\
asm(".globl " #name "\n.set " #name ", stub_" #name "\n")

#define FILL		(1U << WHAT_FILL)
#define BIND		(1U << WHAT_BIND | PLUG)
#define BOOT		(1U << WHAT_DEFERRED | 1U << WHAT_RESERVED)
#define ONLINE		(1U << WHAT_ONLINE)
#define OFFLINE		(1U << WHAT_OFFLINE | PLUG)
#define HOTPLUG		(ONLINE | OFFLINE)
/* From the command to its end: that needs what binds and blocks do. */
#define PLUG		(1U << WHAT_PLUG | 1U << WHAT_UNPLUG)

/* offline.h ends a scan that finds pages in use where the kernel asks hugetlb. */
#if defined(CONFIG_MEMORY_HOTREMOVE) && defined(CONFIG_HUGETLB_PAGE)
#define WITH_OFFLINE
#ifdef CONFIG_ZONE_DEVICE
#define WITH_PLUG
#endif
#endif

unsigned long volatile jiffies;

int numa_nearest_node(int node, unsigned int state)
{
	return node;
}

/* Stands for the call that WARN() makes, whatever its arguments. */
static void __used warn_trap(void)
{
	replay_event(EVENT_WARNING, 0, 0);
}

asm(".globl __SCT__WARN_trap\n.set __SCT__WARN_trap, warn_trap\n");

#ifdef CONFIG_DEBUG_PAGE_REF
void __page_ref_set(struct page *page, int v)
{
	/* Which pages a bind allocates, and which are looked at offlining, is up to a kernel. */
	if (current_what != WHAT_BIND && current_what < WHAT_OFFLINE)
		replay_event(EVENT_PAGE_REF_SET, (unsigned long)page, v);
}

struct tracepoint __tracepoint_page_ref_set;
/* Off, and read at run time in this configuration. */
struct tracepoint __tracepoint_mm_page_alloc;
struct tracepoint __tracepoint_mm_page_alloc_extfrag;
struct tracepoint __tracepoint_mm_page_alloc_zone_locked;
struct tracepoint __tracepoint_mm_page_free;
struct tracepoint __tracepoint_mm_page_free_batched;
struct tracepoint __tracepoint_mm_page_pcpu_drain;
struct tracepoint __tracepoint_mm_calculate_totalreserve_pages;
struct tracepoint __tracepoint_mm_setup_per_zone_lowmem_reserve;
struct tracepoint __tracepoint_mm_setup_per_zone_wmarks;
struct tracepoint __tracepoint_page_ref_freeze;
struct tracepoint __tracepoint_page_ref_mod;
struct tracepoint __tracepoint_page_ref_mod_and_test;
struct tracepoint __tracepoint_page_ref_mod_unless;
#endif

static void trace(int on)
{
#ifdef CONFIG_DEBUG_PAGE_REF
	atomic_set(&__tracepoint_page_ref_set.key.key.enabled, on);
#endif
}

#if !defined(CONFIG_PREEMPTION) && !defined(CONFIG_PREEMPT_DYNAMIC)
int __sched __cond_resched(void)
{
	if (current_what < WHAT_PLUG)
		replay_event(EVENT_RESCHED, 0, 0);
	return 0;
}
#endif

#ifdef CONFIG_DEBUG_VM
/* Off: vm_debug=- */
void page_init_poison(struct page *page, size_t size)
{
}
#endif

#ifdef CONFIG_KMSAN
void kmsan_memmove(void *to, const void *from, size_t n)
{
}
#endif

/* What the kernel calls to split a range among threads, by another name; see harness/link. */
void replay_do_multithreaded(struct padata_mt_job *job);

#ifdef WITH_ALLOCATOR
#include "padata.h"
#else
/*
 * The caller does the whole job: an arm64 kernel finds "current" in a register that user space
 * cannot read. The masks have no bits, and the count of CPUs is not used.
 */
s64 memstart_addr;
unsigned int nr_cpu_ids;
cpumask_var_t node_to_cpumask_map[MAX_NUMNODES];
nodemask_t node_states[NR_NODE_STATES];

unsigned int __bitmap_weight(const unsigned long *bitmap, unsigned int bits)
{
	return 0;
}

void replay_do_multithreaded(struct padata_mt_job *job)
{
	job->thread_fn(job->start, job->start + job->size, job->fn_arg);
}

static void set_cpus(unsigned int nr, unsigned long new_min_chunk)
{
}

static void set_works(unsigned int nr)
{
}
#endif

static void place(void *pfn0)
{
#ifdef CONFIG_X86
	vmemmap_base = (unsigned long)pfn0;
#else
	memstart_addr = (((long)VMEMMAP_START - (long)pfn0) /
			 (long)sizeof(struct page)) << PAGE_SHIFT;
#endif
}

/* The sections that a case can use, beginning with those around its first page. */
#define NR_ROOTS	96
#define NR_SECTIONS	(NR_ROOTS * SECTIONS_PER_ROOT)
#define USAGE_SIZE	(sizeof(struct mem_section_usage) + SECTION_BLOCKFLAGS_BITS / 8)

static struct mem_section *roots[(1UL << (52 - SECTION_SIZE_BITS)) / SECTIONS_PER_ROOT];
struct mem_section **mem_section = roots;

/*
 * All that the code changes besides the memmap: at the same address for every kernel, so
 * that it can be compared byte for byte, pointers included.
 */
static struct state {
	struct pglist_data pgdat;
	struct per_cpu_zonestat zonestat;
	struct per_cpu_nodestat nodestat;
	atomic_long_t vm_zone_stat[NR_VM_ZONE_STAT_ITEMS];
#ifdef WITH_ALLOCATOR
	struct vm_event_state events;
	unsigned long totalram, highest_pfn;
	struct per_cpu_pages pcp, lower_pcp;
	pgd_t pgd[PTRS_PER_PGD] __aligned(PAGE_SIZE);
#endif
	struct {
		struct mem_section sections[SECTIONS_PER_ROOT];
		unsigned char usage[SECTIONS_PER_ROOT][USAGE_SIZE] __aligned(8);
	} roots[NR_ROOTS];
} *state;

static struct zone *zone_of(const struct memmap_case *c)
{
	return &state->pgdat.node_zones[c->zone];
}

/* Pages of @pfn to @end_pfn have sections with @flags; returns the bytes of state in use. */
static unsigned long make_sections(unsigned long pfn, unsigned long end_pfn, unsigned long flags)
{
	static unsigned long first, nr;
	unsigned long i, j;

	for (i = 0; i < nr; i++)
		roots[first + i] = NULL;
	first = SECTION_NR_TO_ROOT(pfn_to_section_nr(pfn));
	first -= !!first;
	nr = SECTION_NR_TO_ROOT(pfn_to_section_nr(end_pfn)) + 2 - first;
	if (nr > NR_ROOTS)
		__builtin_trap();
	memset(state, 0, offsetof(struct state, roots[nr]));
	for (i = 0; i < nr; i++) {
		roots[first + i] = state->roots[i].sections;
		for (j = 0; j < SECTIONS_PER_ROOT; j++) {
			struct mem_section *section = &state->roots[i].sections[j];

			section->usage = (struct mem_section_usage *)state->roots[i].usage[j];
			bitmap_fill(section->usage->subsection_map, SUBSECTIONS_PER_SECTION);
			section->section_mem_map = flags;
		}
	}
	return offsetof(struct state, roots[nr]);
}

/* @used: pages of the altmap that hold a memmap */
static void make_pgmap(const struct memmap_case *c, unsigned long used)
{
	const struct dev_pagemap pgmap = {
		.type = c->type ?: c->order ? MEMORY_DEVICE_GENERIC : MEMORY_DEVICE_FS_DAX,
		.flags = c->altmap ? PGMAP_ALTMAP_VALID : 0,
		.vmemmap_shift = c->order,
		.nr_range = 1,
		.altmap = {
			.base_pfn = c->start_pfn,
			.end_pfn = c->start_pfn + c->nr_pages - 1,
			.reserve = c->reserve,
			.free = c->offset,
			.alloc = used,
		},
	};
	unsigned long i;

	BUILD_BUG_ON(sizeof(pgmap) > sizeof(replay_pgmap));
	for (i = 0; i < sizeof(pgmap) / sizeof(long); i++)
		WRITE_ONCE(replay_pgmap[i], ((const unsigned long *)&pgmap)[i]);
}

#ifdef CONFIG_ZONE_DEVICE
static struct dev_pagemap *const pgmap = (struct dev_pagemap *)replay_pgmap;

static void fill(unsigned long start_pfn, unsigned long nr_pages)
{
	memmap_init_zone_device(&state->pgdat.node_zones[ZONE_DEVICE], start_pfn, nr_pages, pgmap);
}

static void prepare_fill(const struct memmap_case *c)
{
	unsigned long nr = pfn_to_section_nr(c->start_pfn);

#ifdef WITH_ALLOCATOR
	/* The driver is built in. */
	system_state = SYSTEM_SCHEDULING;
	helpers_node = c->node;
#endif
	make_pgmap(c, c->offset);
	if (c->early)
		for (; nr <= pfn_to_section_nr(c->start_pfn + c->nr_pages); nr++)
			/* On arm64, __nr_to_section() reads a register that user space cannot. */
			if (c->early == EARLY_ALL || nr & 1)
				roots[SECTION_NR_TO_ROOT(nr)][nr & SECTION_ROOT_MASK]
					.section_mem_map |= SECTION_IS_EARLY;
}
#endif

#ifdef WITH_ALLOCATOR
#include "allocator.h"
#else
#define WHATS		FILL

void init_pageblock_migratetype(struct page *page, enum migratetype migratetype, bool isolate)
{
	replay_event(EVENT_PAGEBLOCK, (unsigned long)page, migratetype << 1 | isolate);
}

static unsigned long prepare(const struct memmap_case *c, void *where)
{
	unsigned long bytes;

	state = where;
	bytes = make_sections(c->start_pfn, c->start_pfn + c->nr_pages, 0);
	state->pgdat.node_id = c->node;
	state->pgdat.node_zones[ZONE_DEVICE].zone_pgdat = &state->pgdat;
	prepare_fill(c);
	return bytes;
}

static bool run(const struct memmap_case *c, enum memmap_part part)
{
	fill(c->start_pfn, c->nr_pages);
	return true;
}

static unsigned long finish(const struct memmap_case *c)
{
	return 0;
}

static void count(struct memmap_counts *told)
{
}

static bool is_online(unsigned long pfn)
{
	return false;
}
#endif

static const char *const types[] = {
	[MEMORY_DEVICE_PRIVATE] = "private",
	[MEMORY_DEVICE_COHERENT] = "coherent",
	[MEMORY_DEVICE_FS_DAX] = "fs_dax",
	[MEMORY_DEVICE_GENERIC] = "generic",
	[MEMORY_DEVICE_PCI_P2PDMA] = "pci_p2pdma",
	NULL
};

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
#ifdef WITH_ALLOCATOR
	.init_on_alloc = &init_on_alloc,
#endif
};

/* The only symbol that stays visible; renamed per tree. */
extern struct memmap_side replay_side;
struct memmap_side replay_side = {
	.side = {
		.layout = &layout,
		.place = place,
	},
	.whats = WHATS,
	.types = types,
	.zones = { ZONE_NORMAL, ZONE_MOVABLE },
	.block_pages = MAX_ORDER_NR_PAGES,
	.pageblock_pages = pageblock_nr_pages,
	.lru = offsetof(struct page, lru),
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
