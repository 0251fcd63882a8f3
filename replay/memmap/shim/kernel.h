/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's half of `memmap`: what its files share. alone/ is linked where mm_init.o is alone,
 * whole/ elsewhere, with the objects that MEMMAP in harness/link/program.py lists.
 *
 * In whole/, there is one node. Locks are taken and released with the kernel's instructions, but
 * interrupts stay as they are, and waiters do not queue; per-CPU data is that of one CPU, also
 * where several threads count in it; nothing preempts. Page tables are written, but no CPU uses
 * them: the memmap lies where user space mapped it. TLB flushes are counted, and take no time.
 */
#ifndef REPLAY_MEMMAP_KERNEL_H
#define REPLAY_MEMMAP_KERNEL_H

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/vmstat.h>

#include "internal.h"
#include "mm_init.h"
#include "page_alloc.h"
#include "sparse.h"
#include "../memmap.h"
#include "../../shim/shim.h"

/* offline.c ends a scan that finds pages in use where the kernel asks hugetlb. */
#if defined(CONFIG_MEMORY_HOTREMOVE) && defined(CONFIG_HUGETLB_PAGE)
#define WITH_OFFLINE
#ifdef CONFIG_ZONE_DEVICE
#define WITH_PLUG
#endif
#endif

/* What is called, returns 0 and need not do anything, where one of @whats runs. */
#define STUB(name, whats)						\
static void *__used stub_##name(void)					\
{									\
	if (!((whats) >> current_what & 1))				\
		replay_unexpected(#name);				\
	return NULL;							\
}									\
asm(".globl " #name "\n.set " #name ", stub_" #name "\n")

#define BIND		(1U << WHAT_BIND | PLUG)
#define BOOT		(1U << WHAT_DEFERRED | 1U << WHAT_RESERVED)
#define OFFLINE		(1U << WHAT_OFFLINE | PLUG)
#define HOTPLUG		(1U << WHAT_ONLINE | OFFLINE)
/* From the command to its end: that needs what binds and blocks do. */
#define PLUG		(1U << WHAT_PLUG | 1U << WHAT_UNPLUG)

/* The sections that a case can use, beginning with those around its first page. */
#define NR_ROOTS	96
#define USAGE_SIZE	(sizeof(struct mem_section_usage) + SECTION_BLOCKFLAGS_BITS / 8)

/*
 * All that the code changes besides the memmap: at the same address for every kernel, so
 * that it can be compared byte for byte, pointers included.
 */
struct state {
	struct pglist_data pgdat;
	struct per_cpu_zonestat zonestat;
	struct per_cpu_nodestat nodestat;
	atomic_long_t vm_zone_stat[NR_VM_ZONE_STAT_ITEMS];
	struct vm_event_state events;
	unsigned long totalram, highest_pfn;
	struct per_cpu_pages pcp, lower_pcp;
#ifdef CONFIG_X86
	pgd_t pgd[PTRS_PER_PGD] __aligned(PAGE_SIZE);
#endif
	struct {
		struct mem_section sections[SECTIONS_PER_ROOT];
		unsigned char usage[SECTIONS_PER_ROOT][USAGE_SIZE] __aligned(8);
	} roots[NR_ROOTS];
};

extern struct state *state;
extern enum memmap_what current_what;
extern struct memmap_counts counts;

static inline struct zone *zone_of(const struct memmap_case *c)
{
	return &state->pgdat.node_zones[c->zone];
}

/* Events of the CPU: a per-CPU variable, without its address space. */
static inline struct vm_event_state *events(void)
{
	return (struct vm_event_state *)(uintptr_t)&vm_event_states;
}

/* cases.c, or alone.c: of struct memmap_side */
bool can_run(enum memmap_what what);
unsigned long prepare(const struct memmap_case *c, void *where);
bool run(const struct memmap_case *c, enum memmap_part part);
unsigned long finish(const struct memmap_case *c);
void count(struct memmap_counts *now);		/* zone.c, or alone.c */

/* calls.c */
void warn_trap(void);		/* stands for the call that WARN() makes, whatever its arguments */
void trace(int on);

/* sections.c */
/* Pages of @pfn to @end_pfn have sections with @flags; returns the bytes of state in use. */
unsigned long make_sections(unsigned long pfn, unsigned long end_pfn, unsigned long flags);

/* device.c */
#define PGMAP		((struct dev_pagemap *)replay_pgmap)
/* @used: pages of the altmap that hold a memmap */
void make_pgmap(const struct memmap_case *c, unsigned long used);
void prepare_fill(const struct memmap_case *c);
void fill(unsigned long start_pfn, unsigned long nr_pages);

/* threads.c, or alone.c */
extern int helpers_node;	/* where a driver's helpers must be queued */
void start_padata(void);	/* before a kernel's first job */
void set_cpus(unsigned int nr, unsigned long min_chunk);
void set_works(unsigned int nr);
/* What splits a range among threads, by another name: see harness/link/program.py. */
struct padata_mt_job;
void replay_do_multithreaded(struct padata_mt_job *job);

/* locks.c: what another CPU does just before a lock is taken */
extern void (*before_lock)(raw_spinlock_t *lock);

/* zone.c */
extern struct per_cpu_pages far_pcp;
/* Where memory is scattered, another node's is all in the zone below. */
#define FAR_ZONE	(ZONE_NORMAL - 1)
#define FAR_NODE	min(1, MAX_NUMNODES - 1)
/* One zone, of which no page is free, and empty ones. */
void make_node(const struct memmap_case *c, unsigned int number, unsigned long start_pfn,
	       unsigned long nr_pages);
void make_device_zone(const struct memmap_case *c);
void make_lists(struct per_cpu_pages *pcp);
void set_lists(struct zone *zone, struct per_cpu_pages *pcp);
/* The kernel has initialised these pages, and nobody may have them. */
void reserve(const struct memmap_case *c, unsigned long pfn, unsigned long end_pfn);
unsigned long tell_zones(const struct memmap_case *c);

/* tables.c */
void forget_tables(void);
/* The entry of an address of the memmap, 0 if it is not mapped. */
unsigned long find_entry(unsigned long addr);
/* Where a page of the memmap lies, NULL if that is on the device or nowhere. */
void *find_memory(const struct memmap_case *c, unsigned long addr);
unsigned long sum(const unsigned long *words);
/* Tells what is mapped of the memmap of the device and beside it, and, if known, what it holds. */
void walk_tables(const struct memmap_case *c, bool known);

/* bind.c */
void prepare_bind(const struct memmap_case *c);
bool run_bind(const struct memmap_case *c, enum memmap_part part);
void finish_bind(const struct memmap_case *c);
/* What is in the memory that is allocated is not known. */
void forget_memory(void);
int any_add_section(int nid, unsigned long pfn, unsigned long nr_pages, const void *first,
		    struct dev_pagemap *pgmap);

/* boot.c and reserved.c */
void prepare_boot(const struct memmap_case *c);
void prepare_deferred(const struct memmap_case *c);
void run_deferred(const struct memmap_case *c);
void prepare_reserved(const struct memmap_case *c);
void run_reserved(const struct memmap_case *c);

/* blocks.c */
void prepare_online(const struct memmap_case *c);
void run_online(const struct memmap_case *c);
int online_block(const struct memmap_case *c, unsigned long pfn);
void set_callback(const struct memmap_case *c);
bool is_online(unsigned long pfn);

/* offline.c */
void prepare_offline(const struct memmap_case *c);
void run_offline(const struct memmap_case *c);
int offline_block(const struct memmap_case *c, unsigned long pfn);
/* What is done beside: nothing, or that a notifier refuses. */
void start_beside(bool refused);
/* Uses half of the pages that are free, as the case says. */
void use_half(const struct memmap_case *c, unsigned long pfn);

/* plug.c */
void prepare_plug(const struct memmap_case *c);
void prepare_unplug(const struct memmap_case *c);
void run_plug(const struct memmap_case *c);
void run_unplug(const struct memmap_case *c);

#endif
