// SPDX-License-Identifier: GPL-2.0
/* Boot: the zones as memblock has them, and memory whose initialisation was deferred. */
#include <linux/memblock.h>

#include "../kernel.h"

STUB(arch_touch_nmi_watchdog, BOOT);
STUB(set_cpus_allowed_ptr, BOOT);

void prepare_boot(const struct memmap_case *c)
{
	unsigned int i;

	start_padata();
	/* mm_init.o looks up a page of no case, and forgets the nodes of the case before. */
	memblock_add_node(0, PAGE_SIZE, 0, 0);
	early_pfn_to_nid(0);
	memblock_remove(0, PAGE_SIZE);
	memblock_add_node(PFN_PHYS(c->start_pfn), PFN_PHYS(c->nr_pages), c->node, 0);
	for (i = 0; i < c->nr_reserved && c->owner != OWNER_KHO; i++)
		memblock_reserve(PFN_PHYS(c->reserved[i][0]),
				 PFN_PHYS(c->reserved[i][1] - c->reserved[i][0]));
}

void prepare_deferred(const struct memmap_case *c)
{
	unsigned long end_pfn = c->start_pfn + c->nr_pages;

	prepare_boot(c);
	for (unsigned int i = 0; i < c->nr_reserved; i++)
		reserve(c, c->reserved[i][0], c->reserved[i][1]);
	state->pgdat.nr_zones = c->zone + 1;
	/* Something follows, as after all zones but a node's last: nothing is deferred again. */
	state->pgdat.node_spanned_pages += PAGES_PER_SECTION;
	state->pgdat.first_deferred_pfn = c->start_pfn;
	/* The kernel has initialised what it may look at behind the end. */
	reserve(c, end_pfn, ALIGN(end_pfn, MAX_ORDER_NR_PAGES));
}

int deferred_init_memmap(void *data);

void run_deferred(const struct memmap_case *c)
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
