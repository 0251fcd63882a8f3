// SPDX-License-Identifier: GPL-2.0
/*
 * Where mm_init.o is alone: on arm64 as emulated, and with the struct page of KMSAN. Only a device
 * is filled, and the caller does the whole job: an arm64 kernel finds "current" in a register that
 * user space cannot read. The masks have no bits, and the count of CPUs is not used.
 */
#include <linux/padata.h>

#include "../kernel.h"

#ifdef CONFIG_ARM64
s64 memstart_addr;
#endif
unsigned int nr_cpu_ids;
cpumask_var_t node_to_cpumask_map[MAX_NUMNODES];
nodemask_t node_states[NR_NODE_STATES];

unsigned int __bitmap_weight(const unsigned long *bitmap, unsigned int bits)
{
	return 0;
}

#ifdef CONFIG_KMSAN
void kmsan_memmove(void *to, const void *from, size_t n)
{
}
#endif

void replay_do_multithreaded(struct padata_mt_job *job)
{
	job->thread_fn(job->start, job->start + job->size, job->fn_arg);
}

void set_cpus(unsigned int nr, unsigned long min_chunk)
{
}

void set_works(unsigned int nr)
{
}

void init_pageblock_migratetype(struct page *page, enum migratetype migratetype, bool isolate)
{
	replay_event(EVENT_PAGEBLOCK, (unsigned long)page, migratetype << 1 | isolate);
}

bool can_run(enum memmap_what what)
{
	return what == WHAT_FILL;
}

unsigned long prepare(const struct memmap_case *c, void *where)
{
	unsigned long bytes;

	state = where;
	bytes = make_sections(c->start_pfn, c->start_pfn + c->nr_pages,
			      SECTION_HAS_MEM_MAP);
	state->pgdat.node_id = c->node;
	state->pgdat.node_zones[ZONE_DEVICE].zone_pgdat = &state->pgdat;
	prepare_fill(c);
	return bytes;
}

bool run(const struct memmap_case *c, enum memmap_part part)
{
	fill(c->start_pfn, c->nr_pages);
	return true;
}

unsigned long finish(const struct memmap_case *c)
{
	return 0;
}

void count(struct memmap_counts *now)
{
}

bool is_online(unsigned long pfn)
{
	return false;
}
