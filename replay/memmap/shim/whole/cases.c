// SPDX-License-Identifier: GPL-2.0
/* What runs, and what it begins with. */
#include "../kernel.h"

#define ONLINE_FLAGS	(SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE)
#define EARLY_FLAGS	(SECTION_IS_EARLY | ONLINE_FLAGS)
#define OFFLINE_FLAGS	(SECTION_MARKED_PRESENT | SECTION_HAS_MEM_MAP)

#ifdef CONFIG_ZONE_DEVICE
static void run_fill(const struct memmap_case *c)
{
	fill(c->start_pfn, c->nr_pages);
}
#endif

static const struct {
	void (*prepare)(const struct memmap_case *c);
	void (*run)(const struct memmap_case *c);
	unsigned long flags;		/* of its sections */
	enum system_states state;
	bool in_ram;			/* its memmap is allocated from memory that is free */
} cases[NR_WHATS] = {
#ifdef CONFIG_ZONE_DEVICE
	/* The driver is built in. */
	[WHAT_FILL] = { prepare_fill, run_fill, SECTION_HAS_MEM_MAP, SYSTEM_SCHEDULING },
	[WHAT_BIND] = { prepare_bind, NULL, ONLINE_FLAGS, SYSTEM_BOOTING, true },
#endif
	[WHAT_DEFERRED] = { prepare_deferred, run_deferred, EARLY_FLAGS },
	[WHAT_RESERVED] = { prepare_reserved, run_reserved, EARLY_FLAGS },
	[WHAT_ONLINE] = { prepare_online, run_online, OFFLINE_FLAGS },
#ifdef WITH_OFFLINE
	[WHAT_OFFLINE] = { prepare_offline, run_offline, OFFLINE_FLAGS, SYSTEM_RUNNING },
#endif
#ifdef WITH_PLUG
	[WHAT_PLUG] = { prepare_plug, run_plug, ONLINE_FLAGS, SYSTEM_RUNNING, true },
	[WHAT_UNPLUG] = { prepare_unplug, run_unplug, ONLINE_FLAGS, SYSTEM_RUNNING, true },
#endif
};

bool can_run(enum memmap_what what)
{
	return cases[what].prepare;
}

unsigned long prepare(const struct memmap_case *c, void *where)
{
	bool in_ram = cases[c->what].in_ram;
	unsigned long end_pfn = c->start_pfn + c->nr_pages, bytes;

	current_what = c->what;
	state = where;
	task.flags = 0;
	system_state = cases[c->what].state;
	helpers_node = c->what == WHAT_FILL ? c->node : NUMA_NO_NODE;
	bytes = make_sections(c->start_pfn, in_ram ? c->ram_pfn + c->ram_pages : end_pfn,
			      cases[c->what].flags);
	__highest_present_section_nr = pfn_to_section_nr(end_pfn);
	make_node(c, in_ram ? ZONE_NORMAL : c->zone, in_ram ? c->ram_pfn : c->start_pfn,
		  in_ram ? c->ram_pages : c->nr_pages);
#ifndef CONFIG_JUMP_LABEL
	atomic_set(&check_pages_enabled.key.enabled, c->checked);
#endif
	if (c->what <= WHAT_BIND)
		make_device_zone(c);
	cases[c->what].prepare(c);
	memset(&counts, 0, sizeof(counts));
	/* What a bind allocates where is not compared. */
	return in_ram ? 0 : bytes;
}

bool run(const struct memmap_case *c, enum memmap_part part)
{
#ifdef CONFIG_ZONE_DEVICE
	if (c->what == WHAT_BIND)
		return run_bind(c, part);
#endif
	cases[c->what].run(c);
	return true;
}

unsigned long finish(const struct memmap_case *c)
{
#ifdef CONFIG_ZONE_DEVICE
	if (cases[c->what].in_ram)
		finish_bind(c);
	if (c->what == WHAT_BIND)
		return 0;
#endif
	return tell_zones(c);
}
