// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of the demotion replay: what is needed around mm/util.o,
 * arch/x86/lib/copy_mc.o and copy_mc_64.o, which are the kernel's own.
 *
 * Compiled once per tree, with that kernel's own headers and command line. These
 * are stubs: node 0 is the top tier, all others are lower ones; a page that
 * cannot be read is reported to user space; nothing is rescheduled.
 */
#include <linux/memory-tiers.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <asm/cpuid/api.h>

#include "internal.h"
#include "demotion.h"
#include "../thunks.h"

struct cpuinfo_x86 boot_cpu_data;
unsigned long vmemmap_base;
unsigned long page_offset_base = DEMOTION_DATA;

bool node_is_toptier(int node)
{
	return !node;
}

void memory_failure_queue(unsigned long pfn, int flags)
{
	demotion_poisoned(pfn);
}

static unsigned long streamed;

#ifdef CONFIG_ARCH_HAS_COPY_MC_PAGE_NT
/* mm/util.o calls this instead: see harness/replay/demotion.py. */
unsigned long demotion_stream(void *to, const void *from);
unsigned long demotion_stream(void *to, const void *from)
{
	streamed++;
	return copy_mc_page_nt(to, from);
}
#endif

static void place(void *pfn0)
{
	vmemmap_base = (unsigned long)pfn0;
	/* Whether the CPU copies fast with REP MOVSB */
	if (native_cpuid_ebx(7) & BIT(X86_FEATURE_ERMS % 32))
		set_cpu_cap(&boot_cpu_data, X86_FEATURE_ERMS);
}

static void make_folio(unsigned long pfn, unsigned int order, int node)
{
	struct page *page = pfn_to_page(pfn);
	unsigned long i;

	memset(page, 0, sizeof(*page) << order);
	for (i = 0; i < 1UL << order; i++)
		set_page_links(page + i, ZONE_NORMAL, node, pfn + i);
	if (!order)
		return;
	__SetPageHead(page);
	for (i = 1; i < 1UL << order; i++)
		prep_compound_tail(page + i, page, order);
	prep_compound_head(page, order);
}

static void prepare(const struct demotion_case *c)
{
	make_folio(c->from, c->order, c->from_lower);
	make_folio(c->to, c->order, c->lower);
}

static int run(const struct demotion_case *c)
{
	return folio_mc_copy(page_folio(pfn_to_page(c->to)), page_folio(pfn_to_page(c->from)));
}

static unsigned long copy_page_mc(void *to, const void *from)
{
#ifdef CONFIG_ARCH_HAS_COPY_MC_PAGE_NT
	return copy_mc_page_nt(to, from);
#else
	return copy_mc_to_kernel(to, from, PAGE_SIZE);
#endif
}

static const struct replay_layout layout = {
	.page_struct_size = sizeof(struct page),
	.page_shift = PAGE_SHIFT,
	.nr_cpus = NR_CPUS,
};

/* The only symbol that stays visible; renamed per tree. */
extern struct demotion_side replay_side;
struct demotion_side replay_side = {
	.side = {
		.layout = &layout,
		.place = place,
	},
	.prepare = prepare,
	.run = run,
	.copy_page = copy_page_mc,
	.streamed = &streamed,
};
