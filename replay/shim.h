/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel side: what is needed around mm/mm_init.o, whoever calls it. A shim
 * includes this behind the kernel's headers.
 */
#ifndef CONFIG_SPARSEMEM_EXTREME
#error "the replay provides mem_section as SPARSEMEM_EXTREME has it"
#endif

#include "replay.h"

#ifdef CONFIG_X86
#include <asm/processor.h>
/* All zero: no feature bit set, four-level page tables. */
struct cpuinfo_x86 boot_cpu_data;
unsigned long vmemmap_base;
/* An ordinary task: padata gives others no helper. */
static struct task_struct task = { .static_prio = DEFAULT_PRIO, .prio = DEFAULT_PRIO };
struct task_struct *task_pointer = &task;
/* %gs is zero in user space: a per-CPU variable is the variable itself. */
asm("	.pushsection .bss\n"
	"	.globl __preempt_count, __ref_stack_chk_guard, current_task, const_current_task\n"
	"	.balign 8\n"
	"__preempt_count: .skip 8\n"
	"__ref_stack_chk_guard: .skip 8\n"
	"	.popsection\n"
	"	.set current_task, task_pointer\n"		/* clang */
	"	.set const_current_task, task_pointer\n");	/* gcc */
#endif

unsigned long volatile jiffies;

int numa_nearest_node(int node, unsigned int state)
{
	return node;
}

#define NR_ROOTS	((1UL << (52 - SECTION_SIZE_BITS)) / SECTIONS_PER_ROOT)
static struct mem_section *roots[NR_ROOTS];
struct mem_section **mem_section = roots;

/* Stands for the call that WARN() makes, whatever its arguments. */
void replay_warn_trap(void);
void replay_warn_trap(void)
{
	replay_event(EVENT_WARNING, 0, 0);
}

asm(".globl __SCT__WARN_trap\n.set __SCT__WARN_trap, replay_warn_trap\n");

#ifdef CONFIG_DEBUG_PAGE_REF
void __page_ref_set(struct page *page, int v)
{
	replay_event(EVENT_PAGE_REF_SET, (unsigned long)page, v);
}

struct tracepoint __tracepoint_page_ref_set;
#endif

static void trace(int on)
{
#ifdef CONFIG_DEBUG_PAGE_REF
	atomic_set(&__tracepoint_page_ref_set.key.key.enabled, on);
#endif
}
