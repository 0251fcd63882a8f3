// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of the replay: what memmap_init_zone_device() needs around it.
 *
 * Compiled once per tree and configuration, with that kernel's own headers and
 * command line, then linked with its mm/mm_init.o.
 */
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/page_ref.h>
#include <linux/padata.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../shim.h"
#include "../pgmap.h"

/*
 * What is between mm/mm_init.c and kernel/padata.c, where a kernel's uses it. An
 * arm64 kernel finds "current" in a register that user space cannot read, so
 * there the caller does the whole job.
 */
void replay_do_multithreaded(struct padata_mt_job *job);

#ifdef CONFIG_X86
#include "../padata.h"

static unsigned long min_chunk;

void replay_do_multithreaded(struct padata_mt_job *job)
{
	start_padata();
	if (min_chunk)
		job->min_chunk = min_chunk;
	/* The series wants one thread with an altmap: here, all CPUs that there are. */
	job->max_threads = cpumask_weight(&__cpu_online_mask);
	padata_do_multithreaded(job);
}

static void set_cpus(unsigned int nr, unsigned long new_min_chunk)
{
	min_chunk = new_min_chunk;
	set_online_cpus(nr);
	/* The jobs of the series share a quarter of a node: enough for two jobs at once. */
	set_node_cpus(8 * nr);
	spread = cpumask_weight(&node_mask) / 4 >= nr;
}

/* padata_init() makes so many. */
static void set_works(unsigned int nr)
{
	__num_possible_cpus = nr;
}
#else
/* The masks have no bits, and the count of CPUs is not used. */
unsigned int nr_cpu_ids;
cpumask_var_t node_to_cpumask_map[MAX_NUMNODES];

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

/* Every root points at the same sections: only "early" matters to the code. */
static struct mem_section sections[SECTIONS_PER_ROOT];

static struct pglist_data pgdat;

void init_pageblock_migratetype(struct page *page,
				enum migratetype migratetype, bool isolate)
{
	replay_event(EVENT_PAGEBLOCK, (unsigned long)page,
		     migratetype << 1 | isolate);
}

#if !defined(CONFIG_PREEMPTION) && !defined(CONFIG_PREEMPT_DYNAMIC)
int __sched __cond_resched(void)
{
	replay_event(EVENT_RESCHED, 0, 0);
	return 0;
}
#endif

#ifdef CONFIG_KMSAN
void kmsan_memmove(void *to, const void *from, size_t n)
{
}
#endif

static void prepare(const struct replay_case *c)
{
	unsigned long i;

	make_pgmap(c, c->offset);
	for (i = 0; i < ARRAY_SIZE(roots) && !roots[i]; i++)
		roots[i] = sections;
	for (i = 0; i < ARRAY_SIZE(sections); i++)
		sections[i].section_mem_map =
			c->early == EARLY_ALL || (c->early == EARLY_ODD && i & 1) ?
			SECTION_IS_EARLY : 0;

	pgdat.node_zones[ZONE_DEVICE].zone_pgdat = &pgdat;
	pgdat.node_id = c->node;
}

static void bind(unsigned long start_pfn, unsigned long nr_pages)
{
	memmap_init_zone_device(&pgdat.node_zones[ZONE_DEVICE], start_pfn, nr_pages,
				(struct dev_pagemap *)replay_pgmap);
}

static const char *const types[] = {
	[MEMORY_DEVICE_PRIVATE] = "private",
	[MEMORY_DEVICE_COHERENT] = "coherent",
	[MEMORY_DEVICE_FS_DAX] = "fs_dax",
	[MEMORY_DEVICE_GENERIC] = "generic",
	[MEMORY_DEVICE_PCI_P2PDMA] = "pci_p2pdma",
	NULL
};

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
	PAGE_FIELD(compound_info),
	PAGE_FIELD(zone_device_data),
	{ }
};

/* The only symbol that stays visible; renamed per tree. */
extern struct replay_side replay_side;
struct replay_side replay_side = {
	.layout = &layout,
	.fields = fields,
	.types = types,
	.place = place,
	.prepare = prepare,
	.bind = bind,
	.trace = trace,
	.set_cpus = set_cpus,
	.set_works = set_works,
};
