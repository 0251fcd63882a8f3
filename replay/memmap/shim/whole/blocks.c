// SPDX-License-Identifier: GPL-2.0
/* Memory blocks that come online. */
#include <linux/memory.h>
#include <linux/memory_hotplug.h>

#include "../kernel.h"

STUB(kcompactd_run, HOTPLUG);
STUB(kswapd_run, HOTPLUG);
STUB(node_notify, HOTPLUG);
STUB(writeback_set_ratelimit, HOTPLUG);

#ifndef WITH_OFFLINE
int memory_notify(enum memory_block_state state, void *v)
{
	return 0;
}
#endif

bool is_online(unsigned long pfn)
{
	return online_section(__pfn_to_section(pfn));
}

void set_callback(const struct memmap_case *c)
{
	restore_online_page_callback(generic_online_page);
	if (c->callback && set_online_page_callback(generic_online_page))
		warn_trap();
}

/* Memory of the lowest zone is there, and marks the node and the zone as populated. */
void prepare_online(const struct memmap_case *c)
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
	set_callback(c);
}

/* As memory_block_online() does. */
int online_block(const struct memmap_case *c, unsigned long pfn)
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

void run_online(const struct memmap_case *c)
{
	unsigned long pfn;

	for (pfn = c->start_pfn; pfn < c->start_pfn + c->nr_pages; pfn += c->block_pages)
		if (online_block(c, pfn))
			warn_trap();
}
