// SPDX-License-Identifier: GPL-2.0
/* What code of any kernel calls: warnings, tracepoints, requests to yield. */
#include <linux/page_ref.h>
#include <linux/rcupdate.h>

#include "kernel.h"

unsigned long volatile jiffies;

int numa_nearest_node(int node, unsigned int state)
{
	return node;
}

/* No other CPU looks at the memmap. */
void synchronize_rcu_expedited(void) {}

void warn_trap(void)
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

void trace(int on)
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
