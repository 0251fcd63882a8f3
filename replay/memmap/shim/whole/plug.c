// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that comes by add_memory_resource() and goes by __remove_memory(). What drivers/base does
 * is done here in few words: a block is made for the call alone.
 */
#include <linux/memory.h>
#include <linux/memory_hotplug.h>

#include "../arch/x86/mm/mm_internal.h"
#include "../kernel.h"

#ifdef WITH_PLUG
STUB(cpus_read_lock, PLUG);
STUB(cpus_read_unlock, PLUG);
STUB(create_memory_block_devices, PLUG);
STUB(firmware_map_add_hotplug, PLUG);
STUB(firmware_map_remove, PLUG);
STUB(percpu_down_write, PLUG);
STUB(percpu_up_write, PLUG);
STUB(register_memory_blocks_under_node_hotplug, PLUG);
STUB(release_mem_region_adjustable, PLUG);
STUB(remove_memory_block_devices, PLUG);

unsigned long direct_map_physmem_end = ULONG_MAX;
/* Is it "System RAM"? That is a driver's. */
int strcmp(const char *a, const char *b)
{
	return 1;
}

static const struct memmap_case *plugged;
/* Of a case: what the block that it names does. */
static const struct memmap_step *step_now;

unsigned long init_memory_mapping(unsigned long start, unsigned long end, pgprot_t prot)
{
	return kernel_physical_mapping_init(start, end, 1UL << PG_LEVEL_2M, prot);
}

/* What a kernel calls in place of sparse_add_section(); see harness/link/program.py. */
int replay_add_section(int nid, unsigned long pfn, unsigned long nr_pages, const void *first,
		       struct dev_pagemap *pgmap);
int replay_add_section(int nid, unsigned long pfn, unsigned long nr_pages, const void *first,
		       struct dev_pagemap *pgmap)
{
	int error = any_add_section(nid, pfn, nr_pages, first, pgmap);
	unsigned long addr = (unsigned long)pfn_to_page(pfn);
	unsigned long end = (unsigned long)pfn_to_page(pfn + nr_pages);

	/* As page tables would show it: what is in the memory that was allocated. */
	for (; plugged->nr_steps && !error && addr < end; addr += PAGE_SIZE)
		memcpy((void *)addr, find_memory(plugged, addr), PAGE_SIZE);
	return error;
}

int walk_memory_blocks(unsigned long start, unsigned long size, void *arg,
		       walk_memory_blocks_func_t func)
{
	static struct memory_block block;
	unsigned long pfn, end_pfn = PHYS_PFN(start + size);
	int error = 0;

	for (pfn = PHYS_PFN(start); pfn < end_pfn && !error; pfn += plugged->block_pages) {
		block.start_section_nr = pfn_to_section_nr(pfn);
		block.state = is_online(pfn) ? MEM_ONLINE : MEM_OFFLINE;
		error = func(&block, arg);
	}
	return error;
}

static bool is_named(unsigned long pfn)
{
	return step_now && pfn == plugged->start_pfn + step_now->block * plugged->block_pages;
}

static int change_block(unsigned long pfn, bool offline)
{
	start_beside(is_named(pfn) && step_now->refused);
	if (is_named(pfn) && step_now->poisoned && !offline)
		return -EHWPOISON;
	return offline ? offline_block(plugged, pfn) : online_block(plugged, pfn);
}

/* Until the first block comes online, memory is added. */
int device_online(struct device *dev)
{
	struct memory_block *block = container_of(dev, struct memory_block, dev);
	unsigned long pfn = section_nr_to_pfn(block->start_section_nr);

	if (pfn == plugged->start_pfn)
		replay_half();
	return change_block(pfn, false);
}

static int add(const struct memmap_case *c, bool offline)
{
	struct resource res = DEFINE_RES_MEM_NAMED(PFN_PHYS(c->start_pfn), PFN_PHYS(c->nr_pages),
						   "memory");

	mhp_set_default_online_type(offline ? MMOP_OFFLINE : MMOP_ONLINE);
	return add_memory_resource(0, &res, 0);
}

/* All blocks, but the one that a step names may refuse. */
static void change_blocks(const struct memmap_case *c, bool offline)
{
	unsigned long pfn;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += c->block_pages)
		if (is_online(pfn) == offline)
			replay_event(EVENT_RESULT, (unsigned long)pfn_to_page(pfn),
				     change_block(pfn, offline));
}

static void add_online(const struct memmap_case *c)
{
	if (add(c, false) || !is_online(c->start_pfn + c->nr_pages - 1))
		warn_trap();
}

static void remove(const struct memmap_case *c)
{
	__remove_memory(PFN_PHYS(c->start_pfn), PFN_PHYS(c->nr_pages));
}

/* It comes, what is offline comes online, all but one go offline, it goes; and again. */
static void run_steps(const struct memmap_case *c)
{
	unsigned int i;
	int error;

	for (i = 0; i < c->nr_steps; i++) {
		step_now = &c->steps[i];
		switch (i % 4) {
		case 0:
			error = add(c, step_now->offline);
			replay_event(EVENT_RESULT, (unsigned long)pfn_to_page(c->start_pfn), error);
			break;
		case 1:
			change_blocks(c, false);
			break;
		case 2:
			change_blocks(c, true);
			break;
		default:
			step_now = NULL;
			change_blocks(c, true);
			remove(c);
		}
	}
	step_now = NULL;
	start_beside(false);
}

void run_plug(const struct memmap_case *c)
{
	if (c->nr_steps)
		run_steps(c);
	else
		add_online(c);
}

void run_unplug(const struct memmap_case *c)
{
	if (c->nr_steps) {
		run_steps(c);
		return;
	}
	change_blocks(c, true);
	replay_half();
	remove(c);
}

void prepare_plug(const struct memmap_case *c)
{
	struct zone *zone = zone_of(c);

	prepare_bind(c);
	zone->zone_start_pfn = 0;
	zone->spanned_pages = 0;
	zone->present_pages = 0;
	zone->initialized = 0;
	state->pgdat.node_present_pages = c->ram_pages;
	nodes_clear(node_states[N_POSSIBLE]);
	node_set_state(0, N_POSSIBLE);
	set_callback(c);
	forget_memory();
	plugged = c;
	step_now = NULL;
	start_beside(false);
}

void prepare_unplug(const struct memmap_case *c)
{
	prepare_plug(c);
	add_online(c);
	use_half(c, c->start_pfn);
}
#else
int replay_add_section(void);
int replay_add_section(void)
{
	return 0;
}
#endif
