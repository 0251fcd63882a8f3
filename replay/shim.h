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
#include "thunks.h"

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

#ifdef CONFIG_ARM64
s64 memstart_addr;
#endif

static void place(void *pfn0)
{
#ifdef CONFIG_X86
	vmemmap_base = (unsigned long)pfn0;
#endif
#ifdef CONFIG_ARM64
	memstart_addr = (((long)VMEMMAP_START - (long)pfn0) /
			 (long)sizeof(struct page)) << PAGE_SHIFT;
#endif
}

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

#define PAGE_FIELD(name) \
	{ "page." #name, 0, offsetof(struct page, name), sizeof_field(struct page, name) }

static const struct replay_field page_fields[] = {
	PAGE_FIELD(flags),
	PAGE_FIELD(mapping),
	PAGE_FIELD(share),
	PAGE_FIELD(private),
	PAGE_FIELD(_mapcount),
	PAGE_FIELD(_refcount),
#ifdef CONFIG_MEMCG
	PAGE_FIELD(memcg_data),
#endif
#ifdef LAST_CPUPID_NOT_IN_PAGE_FLAGS
	PAGE_FIELD(_last_cpupid),
#endif
#ifdef CONFIG_KMSAN
	PAGE_FIELD(kmsan_shadow),
	PAGE_FIELD(kmsan_origin),
#endif
	{ }
};

static const struct replay_layout layout = {
	.fields = page_fields,
	.pages_per_section = PAGES_PER_SECTION,
	.page_struct_size = sizeof(struct page),
	.page_shift = PAGE_SHIFT,
	.max_order = PUD_SHIFT - PAGE_SHIFT,
	.dedup_pages = VMEMMAP_RESERVE_NR * (PAGE_SIZE / sizeof(struct page)),
	.nr_nodes = MAX_NUMNODES,
	.nr_cpus = NR_CPUS,
	.can_trace = IS_ENABLED(CONFIG_DEBUG_PAGE_REF),
	.can_check = !IS_ENABLED(CONFIG_JUMP_LABEL),
	.has_mask = compound_info_has_mask,
};
